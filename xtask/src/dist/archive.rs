//! Archives that are the same on any machine and at any time if the same files are packed: in the order of their names, root's,
//! with one time.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::programs::output;

/// Packs what is in a folder by tar, compressed where the name ends in `gz`, and writes its sum.
pub fn pack(folder: &Path, time_s: u64, to: &Path) -> Result<()> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort();
    let mut tar = Command::new("tar");
    tar.args("--sort=name --format=ustar --owner=0 --group=0 --numeric-owner".split(' '));
    if to.extension().is_some_and(|ending| ending == "gz") {
        tar.args(["--use-compress-program", "gzip -9n"]);
    }
    tar.arg(format!("--mtime=@{time_s}")).arg("-cf").arg(to);
    output(tar.arg("-C").arg(folder).args(names))?;
    write_sum(to)
}

pub fn unpack(archive: &Path, into: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    output(tar.arg("-xf").arg(archive).arg("-C").arg(into)).map(drop)
}

/// Compresses a file, without a time or a name in it, and adds `.gz` to its name.
pub fn gzip(path: &Path) -> Result<()> {
    output(Command::new("gzip").arg("-9nf").arg(path)).map(drop)
}

/// The SHA-256 of a file, in hexadecimal digits.
pub fn sha256(path: &Path) -> Result<String> {
    let said = output(Command::new("sha256sum").arg("--").arg(path))?;
    let sum = said.trim_start_matches('\\').split(' ').next();
    Ok(sum.unwrap_or_default().to_owned())
}

/// Writes the file that `sha256sum --check` reads, next to a file.
pub fn write_sum(path: &Path) -> Result<()> {
    let name = path.file_name().context("a file has a name")?;
    let name = name.to_string_lossy();
    let sum = format!("{}  {name}\n", sha256(path)?);
    Ok(fs::write(
        path.with_file_name(format!("{name}.sha256")),
        sum,
    )?)
}
