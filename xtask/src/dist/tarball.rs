//! The program as `tar.gz`: one folder, laid out as below `/usr/local`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::archive::{self, Archive};
use super::program::Program;
use super::root::Root;

fn name(program: &Program) -> String {
    format!(
        "bitcost-{}-{}",
        program.release.version, program.release.target
    )
}

/// Makes the archive in a folder.
///
/// # Errors
/// When a file cannot be read or written.
pub fn make(program: &Program, out: &Path) -> Result<Vec<PathBuf>> {
    let top = PathBuf::from(name(program));
    let mut files = Archive::default();
    files.file(&top.join("bin/bitcost"), 0o755, fs::read(&program.path)?);
    files.tree(&program.share, &top.join("share"))?;
    let path = out.join(format!("{}.tar.gz", top.display()));
    archive::write_with_sum(&path, &archive::gzip(&files.tar(program.release.time_s)?)?)?;
    Ok(vec![path])
}

/// Unpacks the archive into an empty folder, and makes a run with that folder as the root.
///
/// # Errors
/// When the run fails.
pub fn check(program: &Program, files: &[PathBuf]) -> Result<()> {
    let root = Root::empty()?;
    for file in files {
        tar::Archive::new(&archive::gunzip(&fs::read(file)?)?[..]).unpack(root.path())?;
    }
    root.check_run(&format!("/{}/bin/bitcost", name(program)), &program.release)
}
