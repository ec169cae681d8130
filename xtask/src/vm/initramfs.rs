//! The machine's file system: an archive that the kernel unpacks into memory
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// An archive in the form "newc" of cpio.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    names: BTreeSet<PathBuf>,
}

const FOLDER: u32 = 0o040_755;
const SYMLINK: u32 = 0o120_777;
const FILE: u32 = 0o100_000;
/// Name of the last entry.
const END: &str = "TRAILER!!!";

impl Archive {
    /// Adds a folder and those above it, if they do not exist.
    pub fn folder(&mut self, path: &Path) {
        if let Some(above) = path.parent().filter(|above| above.parent().is_some()) {
            self.folder(above);
        }
        self.entry(path, FOLDER, &[]);
    }

    /// Adds a file with these permissions.
    pub fn file(&mut self, path: &Path, permissions: u32, content: &[u8]) {
        path.parent()
            .into_iter()
            .for_each(|folder| self.folder(folder));
        self.entry(path, FILE | permissions, content);
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &Path, to: &str) {
        path.parent()
            .into_iter()
            .for_each(|folder| self.folder(folder));
        self.entry(path, SYMLINK, to.as_bytes());
    }

    /// Adds a program of this machine with the libraries that its loader needs.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn program(&mut self, path: &Path, from: &Path) -> Result<()> {
        let read = |path: &Path| fs::read(path).with_context(|| path.display().to_string());
        self.file(path, 0o755, &read(from)?);
        for library in libraries(from)? {
            self.file(&library, 0o755, &read(&library)?);
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, mode: u32, content: &[u8]) {
        // The root always exists.
        if path.parent().is_none() || !self.names.insert(path.to_owned()) {
            return;
        }
        let name = path.to_string_lossy();
        self.write(name.trim_start_matches('/'), mode, content);
    }

    fn write(&mut self, name: &str, mode: u32, content: &[u8]) {
        let number = self.names.len();
        let [length, name_length] = [content.len(), name.len() + 1];
        // Number, mode, user, group, links, time, length, four device numbers, length of the name,
        // no sum.
        let head = format!(
            "070701{number:08x}{mode:08x}{0:08x}{0:08x}{1:08x}{0:08x}{length:08x}{0:08x}{0:08x}{0:08x}{0:08x}{name_length:08x}{0:08x}",
            0, 1
        );
        self.bytes.extend(head.as_bytes());
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// The bytes of the whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.write(END, 0, &[]);
        self.bytes
    }
}

/// The files that the loader maps for this program; none if it is linked statically.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(program).output().context("ldd")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let path = |line: &str| {
        line.split_ascii_whitespace()
            .find(|word| word.starts_with('/'))
            .map(PathBuf::from)
    };
    Ok(text.lines().filter_map(path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_each_folder_once_and_ends() {
        let mut archive = Archive::default();
        archive.file(Path::new("/etc/a/b"), 0o644, b"hello");
        archive.link(Path::new("/etc/a/c"), "b");
        let bytes = archive.finish();
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("070701").count(), 5, "{text}");
        assert_eq!(bytes.len() % 4, 0);
        assert!(text.contains("etc/a/b\0") && text.contains("hello") && text.contains(END));
    }
}
