//! The store: one folder per execution, with an append-only log of events, one JSON text a line.

mod chain;
mod found;
mod read;
mod write;

use std::io;
use std::path::PathBuf;

pub use chain::seal_again;
pub use read::{Damaged, End, Incomplete, Log, LogFile, read};
pub use write::Writer;

/// The log's name inside its folder.
pub const LOG_NAME: &str = "events.jsonl";

/// Why a log could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder cannot be made or written.
    #[error("cannot write {path}: {error}; choose another place with --out FOLDER")]
    CannotWrite {
        /// What was written.
        path: PathBuf,
        /// What the kernel answered.
        error: io::Error,
    },
    /// The disk has too little room for the whole execution.
    #[error(
        "{path} has {free_mib} MiB free, and the log of this execution may need {needed_mib} MiB; choose another place with --out FOLDER"
    )]
    TooFull {
        /// The folder.
        path: PathBuf,
        /// Free room.
        free_mib: u64,
        /// Expected size.
        needed_mib: u64,
    },
    /// There is no log.
    #[error("cannot read {path}: {error}; an execution's folder holds a file {LOG_NAME}")]
    CannotRead {
        /// What was read.
        path: PathBuf,
        /// What the kernel answered.
        error: io::Error,
    },
    /// What was named is no execution's folder.
    #[error("{path} is {found}, not an execution's folder, which holds a file {LOG_NAME}{advice}")]
    NotAnExecution {
        /// What was named.
        path: PathBuf,
        /// What it is.
        found: String,
        /// What to do, after a semicolon; empty where nothing is known.
        advice: String,
    },
    /// A whole line cannot be verified.
    #[error(
        "{path}:{line}: the log is damaged: this line {what}. It, or a line before it, was changed, removed, moved or added after the log was written. Restore the log from a copy; or add --damaged to `show`, `explain`, `compare` or `report`, which leaves out what cannot be verified"
    )]
    Damaged {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it: *does not match its checksum*.
        what: String,
    },
    /// A whole line is not an event.
    #[error("{path}:{line}: not an event of a bitcost log: {error}; {} lines before it could be read", line - 1)]
    NotAnEvent {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// Written by a later version.
    #[error("{path} is of log format {found}, this bitcost reads up to {known}; use the version that wrote it")]
    TooNew {
        /// The log.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The highest that is read.
        known: u32,
    },
    /// Another process writes to it.
    #[error("{0} is being written by another bitcost; wait for it to end")]
    InUse(PathBuf),
}
