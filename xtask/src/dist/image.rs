//! The container image: the static program and only what it needs, as an archive that docker, podman, containerd and skopeo read
//! (Docker Image Specification v1.2).

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;

use super::archive::{pack, sha256, unpack};
use super::release::{Program, Release, copy_tree, write};
use super::root::Root;
use crate::programs::{command, run};

const PROGRAM: &str = "/usr/bin/bitcost";

/// The folder for logs, if nothing is mounted.
const WORK: &str = "/work";

const LAYER: &str = "layer.tar";

pub fn make(program: &Program, out: &Path) -> Result<Vec<PathBuf>> {
    let release = &program.release;
    let (version, kind) = (&release.version, Release::architecture());
    let place = tempfile::tempdir()?;
    let [files, image, layer] = ["files", "image", LAYER].map(|name| place.path().join(name));
    copy_tree(&program.share.join("doc"), &files.join("usr/share/doc"))?;
    program.install(&files.join(&PROGRAM[1..]))?;
    let work = files.join(&WORK[1..]);
    fs::create_dir(&work)?;
    fs::set_permissions(work, Permissions::from_mode(0o1777))?;
    pack(&files, release.time_s, &layer)?;
    // The time of the commit, as RFC 3339 writes it.
    let created = jiff::Timestamp::from_second(i64::try_from(release.time_s)?)?.to_string();
    let source = release.repository.clone();
    let config = json!({
        "architecture": kind, "os": "linux", "created": created,
        "config": {
            "Entrypoint": [PROGRAM], "Cmd": ["--help"], "WorkingDir": WORK, "Env": ["PATH=/usr/bin"],
            // The keys that the OCI image specification predefines.
            "Labels": {
                "org.opencontainers.image.title": "bitcost",
                "org.opencontainers.image.description": release.description,
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": release.license,
                "org.opencontainers.image.source": source.unwrap_or_else(|| release.source_name()),
                "org.opencontainers.image.revision": release.revision,
                "org.opencontainers.image.created": created,
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", sha256(&layer)?)] },
        "history": [{ "created": created, "created_by": "cargo xtask dist" }],
    });
    let tags = [format!("bitcost:{version}")];
    let manifest = json!([{ "Config": "config.json", "RepoTags": tags, "Layers": [LAYER] }]);
    for (name, content) in [("config.json", config), ("manifest.json", manifest)] {
        write(&image.join(name), content.to_string().as_bytes())?;
    }
    fs::rename(layer, image.join(LAYER))?;
    let path = out.join(format!("bitcost-{version}-image-{kind}.tar"));
    pack(&image, release.time_s, &path)?;
    Ok(vec![path])
}

/// Has skopeo read and copy the image, which compares the layer with its sum, and runs the program with the layer as the root.
pub fn check(program: &Program, files: &[PathBuf]) -> Result<()> {
    for file in files {
        let (place, root) = (tempfile::tempdir()?, Root::empty()?);
        let mut skopeo = command("skopeo");
        skopeo.args(["--insecure-policy", "copy", "--quiet"]);
        skopeo.arg(format!("docker-archive:{}", file.display()));
        let layout = place.path().join("layout");
        run(skopeo.arg(format!("oci:{}", layout.display())))?;
        unpack(file, place.path())?;
        unpack(&place.path().join(LAYER), root.path())?;
        root.check_run("", PROGRAM, &program.release)?;
    }
    Ok(())
}
