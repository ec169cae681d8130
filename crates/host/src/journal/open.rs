//! A journal that this process holds exclusively, and writes step by step.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bitcost_sys::files::open_regular;

use super::{Contents, Entry, Header, line};
use crate::change::Change;

const OURS_ALONE: u32 = 0o600;

#[derive(Debug)]
pub struct OpenJournal {
    file: File,
    path: PathBuf,
    header: Vec<u8>,
    pending: BTreeMap<u32, Change>,
}

/// Why a journal could not be held.
#[derive(Debug)]
pub enum Refusal {
    Held,
    /// It cannot be opened; the text gives the reason.
    Failed(String),
}

/// Opens a journal, which must be a regular file and not a link, and locks it.
pub fn hold(path: &Path, create: bool) -> Result<File, Refusal> {
    let failed =
        |error: io::Error| Refusal::Failed(format!("cannot open {}: {error}", path.display()));
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(create)
        .truncate(false)
        .mode(OURS_ALONE);
    let file = open_regular(path, &mut options).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Refusal::Held),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    // The process that held it may have removed it before it released the lock.
    let is_there = fs::symlink_metadata(path)
        .is_ok_and(|meta| file.metadata().is_ok_and(|ours| ours.ino() == meta.ino()));
    if is_there {
        Ok(file)
    } else {
        Err(Refusal::Held)
    }
}

impl OpenJournal {
    /// Starts a journal in a locked file that has nothing pending.
    pub fn start(mut file: File, path: PathBuf, header: &Header) -> io::Result<OpenJournal> {
        let header = line(&Entry::Header(header.clone()))?;
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&header)?;
        file.sync_all()?;
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(OpenJournal {
            file,
            path,
            header,
            pending: BTreeMap::new(),
        })
    }

    /// Continues a journal that another process left.
    pub fn adopt(file: File, path: PathBuf, contents: &Contents) -> io::Result<OpenJournal> {
        let pending = contents
            .pending
            .iter()
            .map(|change| (change.number, change.clone()))
            .collect();
        let mut adopted = OpenJournal {
            file,
            path,
            header: Vec::new(),
            pending,
        };
        adopted.drop_cut_line()?;
        Ok(adopted)
    }

    /// Removes a last line that was cut off, so that the next one does not continue it.
    fn drop_cut_line(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_end(&mut bytes)?;
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        self.file.set_len(whole as u64)?;
        self.file.seek(SeekFrom::End(0)).map(drop)
    }

    /// Appends a step, and returns when it is on disk. When nothing is pending, everything but the
    /// header is removed.
    ///
    /// # Errors
    /// Why it is not; the step is then not in the journal.
    pub fn append(&mut self, step: &Entry) -> io::Result<()> {
        let (bytes, start) = (line(step)?, self.file.stream_position()?);
        let written = self.file.write_all(&bytes);
        if let Err(error) = written.and_then(|()| self.file.sync_data()) {
            // The next step must not continue half a line.
            let _ = self.file.set_len(start);
            let _ = self.file.seek(SeekFrom::Start(start));
            return Err(error);
        }
        match step {
            Entry::Intent(change) | Entry::Made(change) => {
                drop(self.pending.insert(change.number, change.clone()))
            }
            Entry::Settled(number) => drop(self.pending.remove(number)),
            Entry::Header(_) => {}
        }
        if self.pending.is_empty() && !self.header.is_empty() {
            self.file.set_len(self.header.len() as u64)?;
            self.file.seek(SeekFrom::End(0))?;
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// The changes that are not settled, in the order in which they were made.
    pub fn pending(&self) -> Vec<Change> {
        self.pending.values().cloned().collect()
    }

    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{all, read, tests::change};
    use super::*;

    #[test]
    fn journal_without_pending_changes_is_its_header() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.journal");
        let Ok(file) = hold(&path, true) else {
            panic!("not held")
        };
        assert!(matches!(hold(&path, false), Err(Refusal::Held)));
        let mut journal = OpenJournal::start(file, path.clone(), &Header::now(1)).expect("begun");
        let empty = fs::metadata(&path).expect("there").len();
        journal.append(&Entry::Intent(change(1))).expect("written");
        assert_eq!(
            read(&File::open(&path).expect("there"))
                .expect("read")
                .pending,
            [change(1)]
        );
        journal.append(&Entry::Settled(1)).expect("written");
        assert_eq!(fs::metadata(&path).expect("there").len(), empty);
        journal.remove().expect("removed");
        assert!(all(folder.path()).is_empty());
    }

    #[test]
    fn truncated_last_line_is_removed_before_appending() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.journal");
        let steps = [
            Entry::Header(Header::now(1)),
            Entry::Intent(change(1)),
            Entry::Intent(change(2)),
        ];
        let mut bytes: Vec<u8> = steps
            .iter()
            .flat_map(|step| line(step).expect("a line"))
            .collect();
        bytes.extend(b"{\"made\":\xff");
        fs::write(&path, bytes).expect("written");
        let Ok(file) = hold(&path, false) else {
            panic!("not held")
        };
        let contents = read(&file).expect("read");
        assert_eq!((contents.pending.len(), contents.hides_changes), (2, false));
        let mut journal = OpenJournal::adopt(file, path.clone(), &contents).expect("adopted");
        journal.append(&Entry::Settled(2)).expect("written");
        let contents = read(&File::open(&path).expect("there")).expect("read");
        assert_eq!(
            (contents.pending, contents.unread),
            (vec![change(1)], Vec::new())
        );
    }
}
