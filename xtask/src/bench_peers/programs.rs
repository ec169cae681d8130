//! Programs that take part in a comparison, built from their sources.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The bitcost that was given, else the one of this workspace.
pub fn given_or_built(given: Option<&Path>) -> Result<PathBuf> {
    match given {
        Some(program) => program
            .canonicalize()
            .with_context(|| program.display().to_string()),
        None => built("bitcost"),
    }
}

/// A program of this workspace, built in release mode in the folder of this one.
pub fn built(name: &str) -> Result<PathBuf> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--package", name])
        .status();
    if !status.context("cargo build")?.success() {
        bail!("cargo build --release --package {name} failed");
    }
    let path = std::env::current_exe()?.with_file_name(name);
    if path.exists() {
        Ok(path)
    } else {
        bail!("{} is not there", path.display())
    }
}

/// The C loop, compiled.
pub fn c_loop() -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/peers/loop.c");
    let program = std::env::current_exe()?.with_file_name("bench-peers-loop");
    let status = Command::new("cc")
        .args(["-O2", "-Wall", "-o"])
        .arg(&program)
        .arg(&source)
        .status();
    if !status
        .context("run cc (Debian: apt-get install gcc)")?
        .success()
    {
        bail!("cc could not compile {}", source.display());
    }
    Ok(program)
}
