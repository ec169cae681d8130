//! Writes a log: complete lines, which are flushed to the disk when a run has its result.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bitcost_model::event::Event;

use crate::error::ExecuteError;
use crate::store::chain::Chain;
use crate::store::error::{LOG_NAME, cannot_read, cannot_write, in_use};
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
    /// A line could not be written.
    is_broken: bool,
    chain: Chain,
}

impl Writer {
    /// Creates `parent/name` (with `-2`, `-3` … if that exists) and an empty log in it.
    pub fn create(parent: &Path, name: &str, runs: usize) -> Result<Writer, ExecuteError> {
        std::fs::create_dir_all(parent).map_err(|error| cannot_write(parent, &error))?;
        check_room(parent, runs)?;
        let folder =
            new_folder(parent, name).map_err(|error| cannot_write(&parent.join(name), &error))?;
        let path = folder.join(LOG_NAME);
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).open(&path);
        let file = file.map_err(|error| cannot_write(&path, &error))?;
        Writer::new(folder, file, &End::default())
    }

    /// Continues a log that was read. The incomplete line at its end is removed when the first
    /// event is appended.
    pub fn resume(folder: &Path, end: &End) -> Result<Writer, ExecuteError> {
        let path = folder.join(LOG_NAME);
        let fail = |error: io::Error| cannot_write(&path, &error);
        let file = bitcost_sys::files::open_regular(&path, OpenOptions::new().append(true))
            .map_err(fail)?;
        let writer = Writer::new(folder.to_owned(), file, end)?;
        let rest = end.incomplete.map_or(0, |bytes| bytes as u64);
        if writer.file.metadata().map_err(fail)?.len() != end.whole_bytes + rest {
            return Err(in_use(&path));
        }
        Ok(writer)
    }

    /// Continues after this end, alone.
    fn new(folder: PathBuf, file: File, end: &End) -> Result<Writer, ExecuteError> {
        let path = folder.join(LOG_NAME);
        file.try_lock().map_err(|refused| match refused {
            TryLockError::WouldBlock => in_use(&path),
            TryLockError::Error(error) => cannot_write(&path, &error),
        })?;
        Ok(Writer {
            folder,
            file,
            lines: end.lines,
            whole_bytes: end.incomplete.map(|_| end.whole_bytes),
            is_broken: false,
            chain: end.chain.clone(),
        })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn log(&self) -> Result<LogFile, ExecuteError> {
        let path = self.folder.join(LOG_NAME);
        let facts = self.file.metadata();
        let facts = facts.map_err(|error| cannot_read(&path, &error))?;
        Ok(LogFile::written(&self.folder, facts))
    }

    /// Appends an event as one line. An event that ends a run is on the disk before this returns.
    /// Intermediate readings are not appended, because the run's record has them. Returns the
    /// number of the log's lines, which is that of the event's line.
    pub fn append(&mut self, event: &Event) -> Result<usize, ExecuteError> {
        let is_live_only = matches!(event, Event::Progress { .. } | Event::Reconnecting { .. });
        if is_live_only {
            return Ok(self.lines);
        }
        self.lines += 1;
        let written = match std::mem::replace(&mut self.is_broken, true) {
            // The checksums of what follows begin with that of the line.
            true => Err(io::Error::other("an earlier line could not be written")),
            false => self.write_line(event),
        };
        self.is_broken = written.is_err();
        written.map_err(|error| cannot_write(&self.folder.join(LOG_NAME), &error))?;
        Ok(self.lines)
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

fn check_room(folder: &Path, runs: usize) -> Result<(), ExecuteError> {
    let Ok(disk) = rustix::fs::statvfs(folder) else {
        return Ok(());
    };
    let free = disk.f_bavail * disk.f_frsize;
    let needed = BYTES_PER_RUN * runs as u64;
    if free >= needed {
        return Ok(());
    }
    Err(ExecuteError::Environment(format!(
        "{} has {} MiB free, and the log of this execution may need {} MiB; choose another place with --out FOLDER",
        folder.display(),
        free >> 20,
        needed.div_ceil(1 << 20)
    )))
}
