//! Debian's cloud kernel, taken out of its package into a folder; nothing is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The package that always depends on the newest kernel of this Debian.
const META_PACKAGE: &str = "linux-image-cloud-amd64";

/// A kernel that can be booted.
pub struct Kernel {
    /// Its image.
    pub image: PathBuf,
    /// The folder with its modules.
    pub modules: PathBuf,
}

/// The kernel of this package file, or of Debian's newest package, unpacked below `cache`.
///
/// # Errors
/// When the package is not available here, or has no kernel in it.
pub fn get(cache: &Path, deb: Option<&Path>) -> Result<Kernel> {
    let name = match deb {
        Some(deb) => deb
            .file_stem()
            .with_context(|| format!("{} is no file", deb.display()))?
            .to_owned(),
        None => newest()?.into(),
    };
    let place = cache.join(name);
    if !place.join("boot").is_dir() {
        let deb = match deb {
            Some(deb) => deb.to_owned(),
            None => download(cache, &place)?,
        };
        unpack(&deb, &place)?;
    }
    find(&place)
}

/// The name of the package that the meta package depends on.
fn newest() -> Result<String> {
    let said = output(Command::new("apt-cache").args(["depends", META_PACKAGE]))?;
    let depends = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "));
    let mut images = depends.filter(|name| name.starts_with("linux-image-"));
    images
        .next()
        .map(str::to_owned)
        .with_context(|| format!("no package source of this machine has {META_PACKAGE}"))
}

fn download(cache: &Path, place: &Path) -> Result<PathBuf> {
    let package = place.file_name().unwrap_or_default();
    let into = cache.join("download");
    let _ = fs::remove_dir_all(&into);
    fs::create_dir_all(&into)?;
    output(
        Command::new("apt-get")
            .args(["--quiet", "download"])
            .arg(package)
            .current_dir(&into),
    )?;
    let found = fs::read_dir(&into)?
        .next()
        .context("apt-get download left no file")?;
    Ok(found?.path())
}

/// Unpacks all of it or nothing, so that an interrupted unpacking is not taken for a kernel later.
fn unpack(deb: &Path, place: &Path) -> Result<()> {
    let half = place.with_extension("half");
    let _ = fs::remove_dir_all(&half);
    output(Command::new("dpkg").arg("-x").args([deb, &half]))?;
    fs::rename(&half, place).with_context(|| format!("rename {}", half.display()))
}

fn find(place: &Path) -> Result<Kernel> {
    for entry in fs::read_dir(place.join("boot"))? {
        let image = entry?.path();
        let name = image
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let Some(release) = name.strip_prefix("vmlinuz-") else {
            continue;
        };
        let sibling =
            ["lib/modules", "usr/lib/modules"].map(|folder| place.join(folder).join(release));
        let modules = sibling
            .into_iter()
            .find(|folder| folder.is_dir())
            .context("it has no modules")?;
        return Ok(Kernel { image, modules });
    }
    bail!("there is no kernel in {}", place.display());
}

/// The output of a program; an error if it is missing or fails.
pub fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| program.clone())?;
    if !output.status.success() {
        bail!(
            "{program}: {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
