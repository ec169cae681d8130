//! Debian's cloud kernels, taken out of their packages into a folder without installing them, by lists that are kept apart.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::programs::output;

/// The package that always depends on the newest kernel of a Debian.
const META_PACKAGE: &str = "linux-image-cloud-amd64";
/// Debian's archive, and the keys that sign it.
const ARCHIVE: &str = "http://deb.debian.org/debian";
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A kernel that can be booted.
pub struct Kernel {
    pub image: PathBuf,
    pub modules: PathBuf,
}

/// The newest kernel of a release such as `trixie`, unpacked below `cache`.
pub fn newest(cache: &Path, release: &str) -> Result<Kernel> {
    let options = updated(cache, release)?;
    let apt = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(options.iter().flat_map(|option| ["-o", option]));
        command.args(words);
        command
    };
    let printed = output(&mut apt("apt-cache", &["depends", META_PACKAGE]))?;
    let lines = printed.lines().map(str::trim);
    let mut needed = lines.filter_map(|line| line.strip_prefix("Depends: "));
    let package = needed
        .find(|name| name.starts_with("linux-image-"))
        .with_context(|| format!("no package source has {META_PACKAGE}"))?;
    let place = cache.join(package);
    if !place.is_dir() {
        let into = cache.join("download");
        let _ = fs::remove_dir_all(&into);
        fs::create_dir_all(&into)?;
        output(apt("apt-get", &["--quiet", "download", package]).current_dir(&into))?;
        let found = fs::read_dir(&into)?.next();
        let deb = found.context("apt-get download left no file")??.path();
        // All of it or nothing, so that an interrupted unpacking is not taken for a package later.
        let half = place.with_extension("half");
        let _ = fs::remove_dir_all(&half);
        output(Command::new("dpkg").arg("-x").args([&deb, &half]))?;
        fs::rename(&half, &place).with_context(|| format!("rename {}", half.display()))?;
    }
    find(&place)
}

/// apt's options for a release whose lists are below `cache`; they are brought up to date where its archive can be reached.
fn updated(cache: &Path, release: &str) -> Result<Vec<String>> {
    // apt takes relative paths as those of its folder of settings.
    let place = std::path::absolute(cache)?.join("apt").join(release);
    for folder in ["sources", "lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(place.join(folder))?;
    }
    let source = format!(
        "Types: deb\nURIs: {ARCHIVE}\nSuites: {release}\nComponents: main\nSigned-By: {KEYS}\n"
    );
    fs::write(place.join("sources/debian.sources"), source)?;
    let options = [
        "Dir::Etc::SourceList=/dev/null".to_owned(),
        format!("Dir::Etc::SourceParts={}", place.join("sources").display()),
        format!("Dir::State::Lists={}", place.join("lists").display()),
        format!("Dir::Cache={}", place.join("cache").display()),
        "APT::Update::Post-Invoke-Success::=".to_owned(),
    ];
    let mut update = Command::new("apt-get");
    update.args(options.iter().flat_map(|option| ["-o", option]));
    let updated = output(update.args(["--quiet", "update"]));
    let has_lists = fs::read_dir(place.join("lists"))?
        .filter_map(Result::ok)
        .any(|entry| entry.file_name().to_string_lossy().contains("_Packages"));
    match updated {
        Err(error) if !has_lists => Err(error.context(format!("the packages of {release}"))),
        _ => Ok(options.to_vec()),
    }
}

fn find(place: &Path) -> Result<Kernel> {
    for entry in fs::read_dir(place.join("boot"))? {
        let (image, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if let Some(release) = name.to_string_lossy().strip_prefix("vmlinuz-") {
            let modules = ["lib/modules", "usr/lib/modules"]
                .map(|folder| place.join(folder).join(release))
                .into_iter()
                .find(|folder| folder.is_dir())
                .context("it has no modules")?;
            return Ok(Kernel { image, modules });
        }
    }
    bail!("there is no kernel in {}", place.display());
}
