//! The machine's file system: a folder, as an archive that the kernel unpacks into memory
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::apt::output;

/// The files of a machine, below a folder of this one.
pub struct Archive(TempDir);

impl Archive {
    /// An archive without a file.
    ///
    /// # Errors
    /// When no folder can be made.
    pub fn new() -> Result<Archive> {
        Ok(Archive(tempfile::tempdir()?))
    }

    /// Where a path of the machine is here; its folder is made.
    pub fn place(&self, path: &str) -> Result<PathBuf> {
        let place = self.0.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap_or(&place))?;
        Ok(place)
    }

    /// Adds a folder and those above it, if they do not exist.
    pub fn folder(&self, path: &str) -> Result<()> {
        Ok(fs::create_dir_all(self.place(path)?)?)
    }

    /// Adds a file with these permissions.
    pub fn file(&self, path: &str, permissions: u32, content: &[u8]) -> Result<()> {
        let place = self.place(path)?;
        fs::write(&place, content)?;
        Ok(fs::set_permissions(
            place,
            PermissionsExt::from_mode(permissions),
        )?)
    }

    /// Adds a program of this machine with the libraries that its loader needs.
    pub fn program(&self, path: &str, from: &Path) -> Result<()> {
        let copy = |path: &str, from: &Path| {
            fs::copy(from, self.place(path)?).with_context(|| from.display().to_string())
        };
        copy(path, from)?;
        // None if it is linked statically.
        let libraries = Command::new("ldd").arg(from).output().context("ldd")?;
        let libraries = String::from_utf8_lossy(&libraries.stdout).into_owned();
        for word in libraries
            .split_ascii_whitespace()
            .filter(|word| word.starts_with('/'))
        {
            copy(word, Path::new(word))?;
        }
        Ok(())
    }

    /// Writes the archive: all of it is root's, in the order of the names.
    ///
    /// # Errors
    /// When cpio fails.
    pub fn write(self, to: &Path) -> Result<()> {
        let script = "find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 -F \"$0\"";
        let mut shell = Command::new("sh");
        shell.args(["-ec", script]).arg(std::path::absolute(to)?);
        output(shell.current_dir(self.0.path()))?;
        Ok(())
    }
}
