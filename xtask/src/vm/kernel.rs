//! Debian's cloud kernel, taken out of its package into a folder; nothing is installed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::apt::{Packages, unpack};

/// The package that always depends on the newest kernel of a Debian.
const META_PACKAGE: &str = "linux-image-cloud-amd64";

/// A kernel that can be booted.
pub struct Kernel {
    /// Its image.
    pub image: PathBuf,
    /// The folder with its modules.
    pub modules: PathBuf,
}

/// The newest kernel of these packages, unpacked below `cache`.
///
/// # Errors
/// When they have none, or it cannot be fetched.
pub fn newest(cache: &Path, packages: &Packages) -> Result<Kernel> {
    let package = packages.needed_by(META_PACKAGE, "linux-image-")?;
    find(&packages.unpacked(cache, &package)?)
}

/// The kernel of this package file, unpacked below `cache`.
///
/// # Errors
/// When there is no kernel in it.
pub fn of_file(cache: &Path, deb: &Path) -> Result<Kernel> {
    let name = deb
        .file_stem()
        .with_context(|| format!("{} is no file", deb.display()))?;
    let place = cache.join(name);
    if !place.is_dir() {
        unpack(deb, &place)?;
    }
    find(&place)
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
