//! Writes a log: complete lines, which are flushed to the disk when a run has its result.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bitcost_model::event::Event;

use crate::store::chain::Chain;
use crate::store::error::{LOG_NAME, StoreError};
use crate::store::read::{End, LogFile};

/// Bytes that one run may add to a log: two endpoints, twenty samples, a few CPUs.
const BYTES_PER_RUN: u64 = 256 << 10;

/// A log that events are appended to. One process holds it at a time.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    file: File,
    lines: usize,
    /// Length of the complete lines, if an incomplete one follows them.
    whole_bytes: Option<u64>,
    chain: Chain,
}

impl Writer {
    /// Creates `parent/name` (with `-2`, `-3` … if that exists) and an empty log in it.
    pub fn create(parent: &Path, name: &str, runs: usize) -> Result<Writer, StoreError> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |error| StoreError::CannotWrite { path, error }
        };
        std::fs::create_dir_all(parent).map_err(fail(parent))?;
        check_room(parent, runs)?;
        let folder = new_folder(parent, name).map_err(fail(&parent.join(name)))?;
        let path = folder.join(LOG_NAME);
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .map_err(fail(&path))?;
        let writer = Writer {
            folder,
            file,
            lines: 0,
            whole_bytes: None,
            chain: Chain::default(),
        };
        writer.lock()?;
        Ok(writer)
    }

    /// Continues a log that was read. The incomplete line at its end is removed when the first
    /// event is appended.
    pub fn resume(folder: &Path, end: &End) -> Result<Writer, StoreError> {
        let path = folder.join(LOG_NAME);
        let fail = |error| StoreError::CannotWrite {
            path: path.clone(),
            error,
        };
        let file = bitcost_sys::files::open_regular(&path, OpenOptions::new().append(true))
            .map_err(fail)?;
        let whole_bytes = end.incomplete.as_ref().map(|_| end.whole_bytes);
        let writer = Writer {
            folder: folder.to_owned(),
            file,
            lines: end.lines,
            whole_bytes,
            chain: end.chain.clone(),
        };
        writer.lock()?;
        let rest = end.incomplete.as_ref().map_or(0, |cut| cut.bytes as u64);
        if writer.file.metadata().map_err(fail)?.len() != end.whole_bytes + rest {
            return Err(StoreError::InUse(path));
        }
        Ok(writer)
    }

    fn lock(&self) -> Result<(), StoreError> {
        let path = self.folder.join(LOG_NAME);
        self.file.try_lock().map_err(|refused| match refused {
            TryLockError::WouldBlock => StoreError::InUse(path),
            TryLockError::Error(error) => StoreError::CannotWrite { path, error },
        })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn log(&self) -> Result<LogFile, StoreError> {
        let path = self.folder.join(LOG_NAME);
        let facts = self.file.metadata();
        let facts = facts.map_err(|error| StoreError::CannotRead { path, error })?;
        Ok(LogFile::written(&self.folder, facts))
    }

    /// Appends an event as one line. An event that ends a run is on the disk before this returns.
    /// Intermediate readings are not appended, because the run's record has them. Returns the
    /// number of the log's lines, which is that of the event's line.
    pub fn append(&mut self, event: &Event) -> Result<usize, StoreError> {
        let is_live_only = matches!(event, Event::Progress { .. } | Event::Reconnecting { .. });
        if is_live_only {
            return Ok(self.lines);
        }
        self.lines += 1;
        let written = self
            .write_line(event)
            .map_err(|error| StoreError::CannotWrite {
                path: self.folder.join(LOG_NAME),
                error,
            });
        written.map(|()| self.lines)
    }

    fn write_line(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        self.chain.seal(&mut line);
        if let Some(whole_bytes) = self.whole_bytes.take() {
            self.file.set_len(whole_bytes)?;
        }
        self.file.write_all(&line)?;
        match event {
            // Imported data can be imported again.
            Event::RunBegan { .. } | Event::RunImported { .. } => Ok(()),
            _ => self.file.sync_data(),
        }
    }
}

/// The name of a new execution's folder: the present time, and what is executed.
pub fn stamped(name: &str) -> String {
    let stamp = jiff::ZonedDateTime::now().strftime("%Y-%m-%dT%H-%M-%S");
    format!("{stamp}-{name}")
}

fn new_folder(parent: &Path, name: &str) -> io::Result<PathBuf> {
    for number in 1.. {
        let folder = parent.join(if number == 1 {
            name.to_owned()
        } else {
            format!("{name}-{number}")
        });
        match std::fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(folder),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn check_room(folder: &Path, runs: usize) -> Result<(), StoreError> {
    let Ok(disk) = rustix::fs::statvfs(folder) else {
        return Ok(());
    };
    let free = disk.f_bavail * disk.f_frsize;
    let needed = BYTES_PER_RUN * runs as u64;
    if free >= needed {
        return Ok(());
    }
    Err(StoreError::TooFull {
        path: folder.to_owned(),
        free_mib: free >> 20,
        needed_mib: needed.div_ceil(1 << 20),
    })
}
