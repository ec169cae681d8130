//! The container image: the static program and only what it needs. The archive is an OCI image
//! layout, which also has the file `manifest.json` that `docker load` reads.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::archive::{gzip, pack, sha256, unpack};
use super::release::{Program, Release, copy_tree, write};
use super::root::Root;
use crate::programs::{command, output, run};

const PROGRAM: &str = "/usr/bin/bitcost";

/// The folder for logs, if nothing is mounted.
const WORK: &str = "/work";

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

pub fn make(program: &Program, out: &Path) -> Result<Vec<PathBuf>> {
    let release = &program.release;
    let place = tempfile::tempdir()?;
    let image = place.path().join("image");
    let plain = layer(program, place.path())?;
    let diff_id = format!("sha256:{}", sha256(&plain)?);
    gzip(&plain)?;
    let layer = blob(&image, LAYER, &fs::read(plain.with_extension("tar.gz"))?)?;
    let config = config(release, &diff_id)?.to_string();
    let config = blob(&image, CONFIG, config.as_bytes())?;
    let tag = format!("bitcost:{}", release.version);
    let place = |of: &Value| format!("blobs/sha256/{}", digits(of));
    let docker =
        json!([{ "Config": place(&config), "RepoTags": [tag], "Layers": [place(&layer)] }]);
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer],
        "annotations": labels(release)?,
    });
    let mut manifest = blob(&image, MANIFEST, manifest.to_string().as_bytes())?;
    manifest["annotations"] = json!({
        "io.containerd.image.name": format!("docker.io/library/{tag}"),
        "org.opencontainers.image.ref.name": release.version,
    });
    for (name, content) in [
        (
            "index.json",
            json!({ "schemaVersion": 2, "manifests": [manifest] }),
        ),
        ("oci-layout", json!({ "imageLayoutVersion": "1.0.0" })),
        ("manifest.json", docker),
    ] {
        write(&image.join(name), content.to_string().as_bytes())?;
    }
    let (version, kind) = (&release.version, Release::architecture());
    let path = out.join(format!("bitcost-{version}-oci-{kind}.tar"));
    pack(&image, release.time_s, &path)?;
    Ok(vec![path])
}

/// Adds bytes to an image under their digest; returns the descriptor that refers to them.
fn blob(image: &Path, media_type: &str, bytes: &[u8]) -> Result<Value> {
    let blobs = image.join("blobs/sha256");
    write(&blobs.join("new"), bytes)?;
    let digest = sha256(&blobs.join("new"))?;
    fs::rename(blobs.join("new"), blobs.join(&digest))?;
    let (digest, size) = (format!("sha256:{digest}"), bytes.len());
    Ok(json!({ "mediaType": media_type, "digest": digest, "size": size }))
}

fn digits(descriptor: &Value) -> &str {
    let digest = descriptor["digest"].as_str().unwrap_or_default();
    digest.trim_start_matches("sha256:")
}

/// The files of the image, as an archive in this folder.
fn layer(program: &Program, place: &Path) -> Result<PathBuf> {
    let files = place.join("layer");
    copy_tree(&program.share.join("doc"), &files.join("usr/share/doc"))?;
    program.install(&files.join(&PROGRAM[1..]))?;
    let work = files.join(&WORK[1..]);
    fs::create_dir(&work)?;
    fs::set_permissions(work, Permissions::from_mode(0o1777))?;
    let path = place.join("layer.tar");
    pack(&files, program.release.time_s, &path)?;
    Ok(path)
}

fn config(release: &Release, diff_id: &str) -> Result<Value> {
    let created = time(release)?;
    Ok(json!({
        "architecture": Release::architecture(), "os": "linux", "created": created,
        "config": {
            "Entrypoint": [PROGRAM], "Cmd": ["--help"], "WorkingDir": WORK, "Env": ["PATH=/usr/bin"],
            "Labels": labels(release)?,
        },
        "rootfs": { "type": "layers", "diff_ids": [diff_id] },
        "history": [{ "created": created, "created_by": "cargo xtask dist" }],
    }))
}

/// The time of the commit, as RFC 3339 writes it.
fn time(release: &Release) -> Result<String> {
    Ok(jiff::Timestamp::from_second(i64::try_from(release.time_s)?)?.to_string())
}

/// The keys that the OCI image specification predefines.
fn labels(release: &Release) -> Result<Value> {
    Ok(json!({
        "org.opencontainers.image.title": "bitcost",
        "org.opencontainers.image.description": release.description,
        "org.opencontainers.image.version": release.version,
        "org.opencontainers.image.licenses": release.license,
        "org.opencontainers.image.source": release.repository.clone().unwrap_or_else(|| release.source_name()),
        "org.opencontainers.image.revision": release.revision,
        "org.opencontainers.image.created": time(release)?,
    }))
}

/// Checks the image: skopeo reads and copies it as both kinds of archive, which checks the digests; its layers are unpacked
/// into an empty folder, and its program is run with that folder as the root.
pub fn check(program: &Program, files: &[PathBuf]) -> Result<()> {
    for file in files {
        copied("docker-archive", file)?;
        let copy = copied("oci-archive", file)?;
        let read = |name: &str| -> Result<Value> {
            Ok(serde_json::from_slice(&fs::read(copy.path().join(name))?)?)
        };
        let manifest = read("manifest.json")?;
        let config = read(digits(&manifest["config"]))?;
        let layers = manifest["layers"].as_array();
        let root = Root::empty()?;
        for (number, layer) in layers.context("layers")?.iter().enumerate() {
            let packed = copy.path().join(digits(layer));
            let mut plain = Command::new("sh");
            plain
                .args(["-c", "gzip -dc <\"$0\" | sha256sum"])
                .arg(&packed);
            let sum = output(&mut plain)?;
            let diff_id = config["rootfs"]["diff_ids"][number].as_str();
            ensure!(
                diff_id.is_some_and(|id| sum.starts_with(id.trim_start_matches("sha256:"))),
                "layer {number} is not the one of the configuration"
            );
            unpack(&packed, root.path())?;
        }
        let entry = config["config"]["Entrypoint"][0].as_str();
        let entry = entry.context("the image has an entry point")?;
        root.check_run("", entry, &program.release)?;
    }
    Ok(())
}

/// A folder with the image's blobs, by their digests.
fn copied(kind: &str, file: &Path) -> Result<TempDir> {
    let into = tempfile::tempdir()?;
    let mut skopeo = command("skopeo");
    skopeo.args(["--insecure-policy", "copy", "--quiet"]);
    skopeo.arg(format!("{kind}:{}", file.display()));
    run(skopeo.arg(format!("dir:{}", into.path().display())))?;
    Ok(into)
}
