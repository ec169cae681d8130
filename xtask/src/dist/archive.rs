//! Archives that are the same on any machine and at any time if the same files are packed: sorted,
//! owned by root, with one time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder, read::GzDecoder};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

/// A file or folder of an archive.
enum Entry {
    Folder { mode: u32 },
    File { mode: u32, bytes: Vec<u8> },
}

/// The entries to be packed, by their paths.
#[derive(Default)]
pub struct Archive {
    entries: BTreeMap<PathBuf, Entry>,
}

impl Archive {
    /// Adds a folder with this mode, and the folders above it.
    pub fn folder(&mut self, path: &Path, mode: u32) {
        self.above(path);
        self.entries.insert(path.to_owned(), Entry::Folder { mode });
    }

    /// Adds a file with this mode, and the folders above it.
    pub fn file(&mut self, path: &Path, mode: u32, bytes: Vec<u8>) {
        self.above(path);
        self.entries
            .insert(path.to_owned(), Entry::File { mode, bytes });
    }

    /// Adds every file below a folder of this machine, readable to all.
    pub fn tree(&mut self, from: &Path, to: &Path) -> Result<()> {
        for entry in fs::read_dir(from).with_context(|| format!("read {}", from.display()))? {
            let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
            if path.is_dir() {
                self.tree(&path, &to.join(name))?;
            } else {
                self.file(&to.join(name), 0o644, fs::read(&path)?);
            }
        }
        Ok(())
    }

    /// The bytes of the archive, all of it with this time.
    pub fn tar(self, time_s: u64) -> Result<Vec<u8>> {
        let mut tar = Builder::new(Vec::new());
        for (path, entry) in self.entries {
            let mut header = Header::new_ustar();
            header.set_mtime(time_s);
            header.set_uid(0);
            header.set_gid(0);
            match entry {
                Entry::Folder { mode } => {
                    header.set_entry_type(EntryType::Directory);
                    header.set_mode(mode);
                    header.set_size(0);
                    tar.append_data(&mut header, path.join(""), &[][..])?;
                }
                Entry::File { mode, bytes } => {
                    header.set_mode(mode);
                    header.set_size(bytes.len() as u64);
                    tar.append_data(&mut header, path, &bytes[..])?;
                }
            }
        }
        Ok(tar.into_inner()?)
    }

    fn above(&mut self, path: &Path) {
        for folder in path
            .ancestors()
            .skip(1)
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            self.entries
                .entry(folder.to_owned())
                .or_insert(Entry::Folder { mode: 0o755 });
        }
    }
}

/// The bytes, compressed, without a time or a name.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut gzip = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    gzip.write_all(bytes)?;
    Ok(gzip.finish()?)
}

/// The bytes that were compressed.
pub fn gunzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut plain)?;
    Ok(plain)
}

/// The SHA-256 of the bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Writes a file, and next to it the file that `sha256sum --check` reads.
pub fn write_with_sum(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("write {}", path.display()))?;
    write_sum(path)
}

/// Writes the file that `sha256sum --check` reads, next to a file.
pub fn write_sum(path: &Path) -> Result<()> {
    let name = path
        .file_name()
        .context("a file has a name")?
        .to_string_lossy();
    let sum = format!("{}  {name}\n", sha256(&fs::read(path)?));
    fs::write(path.with_file_name(format!("{name}.sha256")), sum)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_in_which_files_are_added_does_not_matter() {
        let packed = |names: [&str; 2]| {
            let mut archive = Archive::default();
            names
                .iter()
                .for_each(|name| archive.file(Path::new(name), 0o644, name.as_bytes().to_vec()));
            gzip(&archive.tar(7).unwrap()).unwrap()
        };
        assert_eq!(packed(["a/b", "a/c"]), packed(["a/c", "a/b"]));
    }

    #[test]
    fn files_are_roots_and_have_the_time_that_is_given() {
        let mut archive = Archive::default();
        archive.file(Path::new("bin/x"), 0o755, b"x".to_vec());
        let bytes = archive.tar(1_000_000_000).unwrap();
        let mut archive = tar::Archive::new(&bytes[..]);
        let entries = archive.entries().unwrap().map(|entry| {
            let header = entry.unwrap().header().clone();
            let path = header.path().unwrap().display().to_string();
            (
                path,
                header.mode().unwrap(),
                header.uid().unwrap(),
                header.mtime().unwrap(),
            )
        });
        let expected = [
            ("bin/".to_owned(), 0o755, 0, 1_000_000_000),
            ("bin/x".to_owned(), 0o755, 0, 1_000_000_000),
        ];
        assert_eq!(entries.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_sum_is_that_of_the_standard() {
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
