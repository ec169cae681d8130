//! The container image: the static program and only what it needs. The archive is an OCI image
//! layout, which also has the file `manifest.json` that `docker load` reads.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::archive::{self, Archive};
use super::program::Program;
use super::release::{Release, carry_out};
use super::root::Root;
use super::tools::SKOPEO;

/// The program in the image.
const PROGRAM: &str = "/usr/bin/bitcost";

/// The folder for logs, if nothing is mounted.
const WORK: &str = "/work";

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Makes the image in a folder.
///
/// # Errors
/// When a file cannot be read or written.
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
    image.files.file(
        Path::new("index.json"),
        0o644,
        index.to_string().into_bytes(),
    );
    image.files.file(
        Path::new("oci-layout"),
        0o644,
        json!({ "imageLayoutVersion": "1.0.0" })
            .to_string()
            .into_bytes(),
    );
    image.files.file(
        Path::new("manifest.json"),
        0o644,
        docker.to_string().into_bytes(),
    );
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
    let created = release.time_text()?;
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

/// The keys that the OCI image specification predefines.
fn labels(release: &Release) -> Result<Value> {
    Ok(json!({
        "org.opencontainers.image.title": "bitcost",
        "org.opencontainers.image.description": release.description,
        "org.opencontainers.image.version": release.version,
        "org.opencontainers.image.licenses": release.license,
        "org.opencontainers.image.source": release.source(),
        "org.opencontainers.image.revision": release.revision,
        "org.opencontainers.image.created": release.time_text()?,
    }))
}

/// Checks the image: skopeo reads and copies it as both kinds of archive, its layers are unpacked
/// into an empty folder by their digests, and its program is run with that folder as the root.
///
/// # Errors
/// When a digest is wrong, skopeo refuses it, or the run fails.
pub fn check(program: &Program, files: &[PathBuf]) -> Result<()> {
    for file in files {
        for kind in ["oci-archive", "docker-archive"] {
            copied(kind, file)?;
        }
        let root = Root::empty()?;
        let config = unpack(&read(file)?, root.path())?;
        let entry = config["config"]["Entrypoint"][0]
            .as_str()
            .context("the image has an entry point")?;
        root.check_run(entry, &program.release)?;
    }
    Ok(())
}

fn copied(kind: &str, file: &Path) -> Result<()> {
    let into = tempfile::tempdir()?;
    let mut skopeo = SKOPEO.command()?;
    skopeo
        .args(["--insecure-policy", "copy", "--quiet"])
        .arg(format!("{kind}:{}", file.display()));
    carry_out(skopeo.arg(format!("dir:{}", into.path().display())))
}

/// The files of an archive by their paths.
fn read(file: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let bytes = fs::read(file)?;
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(&bytes[..]).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        files.insert(path, content);
    }
    Ok(files)
}

/// Unpacks the layers of the only image; returns its configuration.
fn unpack(files: &BTreeMap<String, Vec<u8>>, into: &Path) -> Result<Value> {
    let index: Value = serde_json::from_slice(
        files
            .get("index.json")
            .context("the archive has an index.json")?,
    )?;
    let manifest: Value = serde_json::from_slice(blob(files, &index["manifests"][0])?)?;
    let config: Value = serde_json::from_slice(blob(files, &manifest["config"])?)?;
    let layers = manifest["layers"]
        .as_array()
        .context("the manifest lists layers")?;
    for (number, layer) in layers.iter().enumerate() {
        let plain = archive::gunzip(blob(files, layer)?)?;
        if config["rootfs"]["diff_ids"][number] != format!("sha256:{}", archive::sha256(&plain)) {
            bail!("layer {number} is not the one of the configuration");
        }
        tar::Archive::new(&plain[..]).unpack(into)?;
    }
    Ok(config)
}

/// The bytes of a descriptor, if digest and size agree.
fn blob<'a>(files: &'a BTreeMap<String, Vec<u8>>, descriptor: &Value) -> Result<&'a [u8]> {
    let bytes = files
        .get(&place(descriptor))
        .with_context(|| format!("the archive lacks {descriptor}"))?;
    let digest = format!("sha256:{}", archive::sha256(bytes));
    if descriptor["digest"] != digest || descriptor["size"] != bytes.len() {
        bail!(
            "{descriptor} describes other bytes: {digest}, {} bytes",
            bytes.len()
        );
    }
    Ok(bytes)
}
