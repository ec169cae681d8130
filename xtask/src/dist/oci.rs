//! The container image: the static program and only what it needs. The archive is an OCI image
//! layout, which also has the file `manifest.json` that `docker load` reads.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::archive::{self, Archive};
use super::release::{Program, Release};
use super::root::Root;
use super::tools::SKOPEO;
use crate::programs::run;

/// The program in the image.
const PROGRAM: &str = "/usr/bin/bitcost";

/// The folder for logs, if nothing is mounted.
const WORK: &str = "/work";

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Makes the image in a folder.
pub fn make(program: &Program, out: &Path) -> Result<Vec<PathBuf>> {
    let release = &program.release;
    let plain = layer(program)?;
    let mut image = Image::default();
    let diff_id = format!("sha256:{}", archive::sha256(&plain));
    let layer = image.blob(LAYER, archive::gzip(&plain)?);
    let config = image.blob(CONFIG, config(release, &diff_id)?.to_string().into_bytes());
    let tag = format!("bitcost:{}", release.version);
    let docker =
        json!([{ "Config": place(&config), "RepoTags": [tag], "Layers": [place(&layer)] }]);
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer],
        "annotations": labels(release)?,
    });
    let mut manifest = image.blob(MANIFEST, manifest.to_string().into_bytes());
    manifest["annotations"] = json!({
        "io.containerd.image.name": format!("docker.io/library/{tag}"),
        "org.opencontainers.image.ref.name": release.version,
    });
    let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
    for (name, content) in [
        ("index.json", index),
        ("oci-layout", json!({ "imageLayoutVersion": "1.0.0" })),
        ("manifest.json", docker),
    ] {
        let content = content.to_string().into_bytes();
        image.files.file(Path::new(name), 0o644, content);
    }
    let path = out.join(format!(
        "bitcost-{}-oci-{}.tar",
        release.version,
        Release::architecture()
    ));
    archive::write_with_sum(&path, &image.files.tar(release.time_s)?)?;
    Ok(vec![path])
}

/// The files of an image archive as they are added.
#[derive(Default)]
struct Image {
    files: Archive,
}

impl Image {
    /// Adds bytes under their digest; returns the descriptor that refers to them.
    fn blob(&mut self, media_type: &str, bytes: Vec<u8>) -> Value {
        let digest = archive::sha256(&bytes);
        let descriptor = json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len() });
        self.files
            .file(&Path::new("blobs/sha256").join(digest), 0o644, bytes);
        descriptor
    }
}

/// The place of a descriptor's bytes in the archive.
fn place(descriptor: &Value) -> String {
    format!(
        "blobs/{}",
        descriptor["digest"]
            .as_str()
            .unwrap_or_default()
            .replace(':', "/")
    )
}

fn layer(program: &Program) -> Result<Vec<u8>> {
    let mut files = Archive::default();
    files.file(Path::new(&PROGRAM[1..]), 0o755, fs::read(&program.path)?);
    files.tree(&program.share.join("doc"), Path::new("usr/share/doc"))?;
    files.folder(Path::new(&WORK[1..]), 0o1777);
    files.tar(program.release.time_s)
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
        let read = |name: &str| Ok::<_, Error>(fs::read(copy.path().join(name))?);
        let blob = |descriptor: &Value| {
            let digest = descriptor["digest"].as_str().unwrap_or_default();
            read(digest.trim_start_matches("sha256:"))
        };
        let manifest: Value = serde_json::from_slice(&read("manifest.json")?)?;
        let config: Value = serde_json::from_slice(&blob(&manifest["config"])?)?;
        let layers = manifest["layers"].as_array();
        let root = Root::empty()?;
        for (number, layer) in layers.context("layers")?.iter().enumerate() {
            let plain = archive::gunzip(&blob(layer)?)?;
            let diff_id = format!("sha256:{}", archive::sha256(&plain));
            ensure!(
                config["rootfs"]["diff_ids"][number] == diff_id,
                "layer {number} is not the one of the configuration"
            );
            tar::Archive::new(&plain[..]).unpack(root.path())?;
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
    let mut skopeo = SKOPEO.command()?;
    skopeo.args(["--insecure-policy", "copy", "--quiet"]);
    skopeo.arg(format!("{kind}:{}", file.display()));
    run(skopeo.arg(format!("dir:{}", into.path().display())))?;
    Ok(into)
}
