//! The source archive: the files of the commit.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::archive;
use super::release::Release;

/// Makes the archive in a folder.
///
/// # Errors
/// When git fails.
pub fn make(release: &Release, out: &Path) -> Result<()> {
    if release.revision.ends_with("-modified") {
        eprintln!(
            "files differ from the commit: the packages have them as they are, the source archive as committed"
        );
    }
    let prefix = format!("--prefix=bitcost-{}/", release.version);
    let git = Command::new("git")
        .args(["archive", "--format=tar", &prefix, "HEAD"])
        .current_dir(&release.folder)
        .output();
    let git = git.context("cannot start git")?;
    if !git.status.success() {
        bail!(
            "git archive: {}: {}",
            git.status,
            String::from_utf8_lossy(&git.stderr).trim()
        );
    }
    let path = out.join(release.source_name());
    archive::write_with_sum(&path, &archive::gzip(&git.stdout)?)?;
    println!(
        "{:>11} bytes  {}",
        std::fs::metadata(&path)?.len(),
        path.display()
    );
    Ok(())
}
