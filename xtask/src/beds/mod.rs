//! Real schedulers of some nodes in network namespaces, over which bitcost measures a mesh.

pub mod kubernetes;
pub mod slurm;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use tempfile::TempDir;

const COMMON: &str = include_str!("common.sh");

/// A bed, which is removed when this is dropped.
struct Bed {
    folder: TempDir,
    script: &'static str,
}

impl Bed {
    /// Makes the bed of this script, whose verb `up` gets these words.
    fn up(script: &'static str, words: &[&str]) -> Result<Bed> {
        let folder = tempfile::tempdir()?;
        let bed = Bed { folder, script };
        bed.script("up", words)?;
        Ok(bed)
    }

    fn script(&self, verb: &str, words: &[&str]) -> Result<()> {
        let mut command = Command::new("bash");
        command
            .args(["-c", &format!("{COMMON}{}", self.script), "bed.sh", verb])
            .arg(self.folder.path())
            .args(words);
        ensure!(command.status()?.success(), "bed.sh {verb}");
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> Result<PathBuf> {
        let path = self.path(name);
        std::fs::write(&path, text)?;
        Ok(path)
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Err(error) = self.script("down", &[]) {
            eprintln!("{error:#}");
        }
    }
}

/// A path as a word of a script.
fn word(path: &Path) -> String {
    path.display().to_string()
}
