//! Why a log could not be read or written.

use std::io;
use std::path::Path;

use crate::error::ExecuteError;

pub const LOG_NAME: &str = "events.jsonl";

pub(super) fn cannot_write(path: &Path, error: &io::Error) -> ExecuteError {
    ExecuteError::Environment(format!(
        "cannot write {}: {error}; choose another place with --out FOLDER",
        path.display()
    ))
}

pub(super) fn cannot_read(path: &Path, error: &io::Error) -> ExecuteError {
    ExecuteError::Usage(format!(
        "cannot read {}: {error}; an execution's folder holds a file {LOG_NAME}",
        path.display()
    ))
}

pub(super) fn in_use(path: &Path) -> ExecuteError {
    ExecuteError::Environment(format!(
        "{} is being written by another bitcost; wait for it to end",
        path.display()
    ))
}
