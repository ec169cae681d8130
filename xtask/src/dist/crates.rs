//! The crates as crates.io would receive them, in cargo's folder `package`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::program::Program;
use super::release::{Release, carry_out};

/// Packs each crate that is published.
///
/// # Errors
/// When a manifest lacks something.
pub fn make(program: &Program, _out: &Path) -> Result<Vec<PathBuf>> {
    let release = &program.release;
    package(release, &["--no-verify"])?;
    let folder = release.target_folder.join("package");
    Ok(release
        .crates
        .iter()
        .map(|name| folder.join(format!("{name}-{}.crate", release.version)))
        .collect())
}

/// Builds each crate from its package alone.
///
/// # Errors
/// When one does not build: a file of it is not in its package.
pub fn check(program: &Program, _files: &[PathBuf]) -> Result<()> {
    package(&program.release, &[])
}

fn package(release: &Release, words: &[&str]) -> Result<()> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["package", "--quiet", "--locked", "--allow-dirty"])
        .args(words);
    cargo.args(release.crates.iter().flat_map(|name| ["--package", name]));
    carry_out(cargo.current_dir(&release.folder))
}
