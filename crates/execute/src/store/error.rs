//! Why a log could not be read or written.

use std::io;
use std::path::PathBuf;

use bitcost_model::event::FORMAT;

/// The log's name inside its folder.
pub const LOG_NAME: &str = "events.jsonl";

/// Why a log could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder cannot be created or written.
    #[error("cannot write {path}: {error}; choose another place with --out FOLDER")]
    CannotWrite {
        /// The path that was written.
        path: PathBuf,
        /// The kernel's error.
        error: io::Error,
    },
    /// The disk has too little room for the whole execution.
    #[error(
        "{path} has {free_mib} MiB free, and the log of this execution may need {needed_mib} MiB; choose another place with --out FOLDER"
    )]
    TooFull {
        /// The folder.
        path: PathBuf,
        /// Free space.
        free_mib: u64,
        /// Expected size.
        needed_mib: u64,
    },
    /// There is no log.
    #[error("cannot read {path}: {error}; an execution's folder holds a file {LOG_NAME}")]
    CannotRead {
        /// The path that was read.
        path: PathBuf,
        /// The kernel's error.
        error: io::Error,
    },
    /// The path names nothing.
    #[error("there is no file or folder `{path}`{advice}")]
    NoSuchPath {
        /// The path.
        path: PathBuf,
        /// Executions that resemble it, after a semicolon.
        advice: String,
    },
    /// The path is not the folder of an execution.
    #[error("{path} is {found}, not an execution's folder, which holds a file {LOG_NAME}{advice}")]
    NotAnExecution {
        /// The path.
        path: PathBuf,
        /// A description of what the path is instead.
        found: String,
        /// What to do, after a semicolon; empty if nothing is known.
        advice: String,
    },
    /// A complete line cannot be verified.
    #[error(
        "{path}:{line}: the log is damaged: this line {what}. It, or a line before it, was changed, removed, moved or added after the log was written. Restore the log from a copy; or add --damaged to `show`, `explain`, `compare` or `report`, which leaves out what cannot be verified"
    )]
    Damaged {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The fault of the line: *does not match its checksum*.
        what: String,
    },
    /// A complete line is not an event.
    #[error("{path}:{line}: not an event of a bitcost log: {error}; {} lines before it could be read", line - 1)]
    NotAnEvent {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The fault of the line.
        error: serde_json::Error,
    },
    /// Another build wrote the log.
    #[error(
        "{path} is of log format {found} of another build, which was never released, and this bitcost reads format {FORMAT} with checksums alone; `bitcost show --format csv` of the build that wrote it keeps its figures"
    )]
    OtherFormat {
        /// The log.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Another process writes to the log.
    #[error("{0} is being written by another bitcost; wait for it to end")]
    InUse(PathBuf),
}
