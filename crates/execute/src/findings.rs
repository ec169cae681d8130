//! What a log on the disk says, read once.

use std::path::Path;
use std::rc::Rc;

use bitcost_analysis::findings::Findings;
use bitcost_analysis::log::Reader;

use crate::error::ExecuteError;
use crate::store::{End, LogFile};

/// Reads the log in a folder once. Returns also how it ends.
pub fn read(folder: &Path) -> Result<(Result<Findings, ExecuteError>, End), ExecuteError> {
    let log = LogFile::open(folder)?;
    let mut reader = Reader::default();
    let end = log.read(&mut |place, event| reader.take(place, &event))?;
    Ok((of_log(log, reader), end))
}

/// What a reader took of a log.
pub(crate) fn of_log(log: LogFile, reader: Reader) -> Result<Findings, ExecuteError> {
    let folder = log.folder.clone();
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    let name = whole.file_name().unwrap_or(whole.as_os_str());
    let name = name.to_string_lossy().into_owned();
    let place = log.place();
    let found = Findings::of(name, Rc::new(log), reader);
    let mut found =
        found.map_err(|error| ExecuteError::Usage(format!("{}: {error}", folder.display())))?;
    found.log = Some(place);
    Ok(found)
}
