//! Why a log could not be read or written.

use std::io;
use std::path::PathBuf;

use bitcost_model::event::FORMAT;

pub const LOG_NAME: &str = "events.jsonl";

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot write {path}: {error}; choose another place with --out FOLDER")]
    CannotWrite { path: PathBuf, error: io::Error },
    #[error(
        "{path} has {free_mib} MiB free, and the log of this execution may need {needed_mib} MiB; choose another place with --out FOLDER"
    )]
    TooFull {
        path: PathBuf,
        free_mib: u64,
        needed_mib: u64,
    },
    #[error("cannot read {path}: {error}; an execution's folder holds a file {LOG_NAME}")]
    CannotRead { path: PathBuf, error: io::Error },
    #[error("there is no file or folder `{path}`{advice}")]
    NoSuchPath {
        path: PathBuf,
        /// What to name instead, after a semicolon.
        advice: String,
    },
    #[error("{path} is {found}, not an execution's folder, which holds a file {LOG_NAME}{advice}")]
    NotAnExecution {
        path: PathBuf,
        found: String,
        /// What to do, after a semicolon; empty if nothing is known.
        advice: String,
    },
    #[error(
        "{path}:{line}: the log is damaged: this line {what}. It, or a line before it, was changed, removed, moved or added after the log was written. Restore the log from a copy, or keep the lines before it in another folder: head -n {} {path} >FOLDER/{LOG_NAME}", line - 1
    )]
    Damaged {
        path: PathBuf,
        line: usize,
        /// The fault of the line: *does not match its checksum*.
        what: String,
    },
    #[error("{path}:{line}: not an event of a bitcost log: {error}; {} lines before it could be read", line - 1)]
    NotAnEvent {
        path: PathBuf,
        line: usize,
        error: serde_json::Error,
    },
    #[error(
        "{path} is of log format {found} of another build, which was never released, and this bitcost reads format {FORMAT} with checksums alone; `bitcost show --format csv` of the build that wrote it keeps its figures"
    )]
    OtherFormat { path: PathBuf, found: u32 },
    #[error("{0} is being written by another bitcost; wait for it to end")]
    InUse(PathBuf),
}
