//! Reading a log back, whole or cut short.

use std::io::Read;
use std::path::{Path, PathBuf};

use model::event::{Event, FORMAT};
use sha2::{Digest, Sha256};

use crate::{LOG_NAME, StoreError};

/// What follows the last whole line of a log that was cut short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// Number of the line, from 1.
    pub line: usize,
    /// Bytes that it has.
    pub bytes: usize,
}

/// A log as it was read.
#[derive(Clone, Debug)]
pub struct Log {
    /// The execution's folder.
    pub folder: PathBuf,
    /// Every whole line.
    pub events: Vec<Event>,
    /// What follows the last whole line.
    pub incomplete: Option<Incomplete>,
    /// Length of the whole lines, in bytes.
    pub whole_bytes: u64,
}

/// Reads the log in `folder`; the log itself can be named too.
///
/// # Errors
/// When there is none, when a whole line is no event, or when a later version wrote it.
pub fn read(folder: &Path) -> Result<Log, StoreError> {
    let named_log = folder.file_name().is_some_and(|name| name == LOG_NAME) && folder.is_file();
    let folder = if named_log { folder.parent().unwrap_or(Path::new(".")) } else { folder };
    let path = folder.join(LOG_NAME);
    let bytes = std::fs::read(&path)
        .map_err(|error| strange(folder).unwrap_or(StoreError::CannotRead { path: path.clone(), error }))?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let mut events = Vec::new();
    for (line, text) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
        check_format(&path, text)?;
        let event = serde_json::from_slice(text);
        events.push(event.map_err(|error| StoreError::NotAnEvent { path: path.clone(), line: line + 1, error })?);
    }
    let rest = bytes.len() - whole;
    let incomplete = (rest > 0).then(|| Incomplete { line: events.len() + 1, bytes: rest });
    Ok(Log { folder: folder.to_owned(), events, incomplete, whole_bytes: whole as u64 })
}

/// Length of a log in bytes and its SHA-256 in hexadecimal, as the file is now.
///
/// # Errors
/// When it cannot be read.
pub fn fingerprint(log: &Log) -> Result<(u64, String), StoreError> {
    let path = log.folder.join(LOG_NAME);
    let fail = |error| StoreError::CannotRead { path: path.clone(), error };
    let mut file = std::fs::File::open(&path).map_err(fail)?;
    let (mut hash, mut bytes, mut part) = (Sha256::new(), 0, vec![0; 1 << 20]);
    loop {
        match file.read(&mut part).map_err(fail)? {
            0 => break,
            read => {
                hash.update(&part[..read]);
                bytes += read as u64;
            }
        }
    }
    Ok((bytes, hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// What a path is that names no execution; absent where it names nothing, or cannot be looked at.
fn strange(path: &Path) -> Option<StoreError> {
    let error = |found: String, advice: &str| StoreError::NotAnExecution {
        path: path.to_owned(),
        found,
        advice: advice.to_owned(),
    };
    if path.is_file() {
        let bytes = path.metadata().map_or(0, |data| data.len());
        let advice = "; `bitcost import` reads files of netperf, iperf3, nuttcp and flent";
        return Some(error(format!("a file of {bytes} bytes"), advice));
    }
    let mut names: Vec<String> =
        std::fs::read_dir(path).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let log = path.join(LOG_NAME);
    match names.len() {
        _ if log.symlink_metadata().is_ok() => None,
        0 => Some(error("an empty folder".to_owned(), "")),
        _ if !executions(path, &names).is_empty() => Some(of_executions(path, &executions(path, &names))),
        count => {
            let first = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
            let more = if count > 3 { ", …" } else { "" };
            Some(error(format!("a folder with other things ({first}{more})"), ""))
        }
    }
}

/// The executions in a folder, the newest first.
fn executions(path: &Path, names: &[String]) -> Vec<PathBuf> {
    let log_at = |folder: &PathBuf| folder.join(LOG_NAME).metadata().and_then(|data| data.modified()).ok();
    let folders = names.iter().map(|name| path.join(name));
    let mut found: Vec<_> = folders.filter_map(|folder| Some((log_at(&folder)?, folder))).collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// Executions that are named where a folder has several.
const NAMED: usize = 3;

fn of_executions(path: &Path, executions: &[PathBuf]) -> StoreError {
    let names: Vec<String> = executions.iter().take(NAMED).map(|folder| folder.display().to_string()).collect();
    let (found, advice) = match executions {
        [_] => ("a folder that holds one".to_owned(), format!("; did you mean {}?", names[0])),
        several => (format!("a folder that holds {}", several.len()), format!("; the newest: {}", names.join(", "))),
    };
    StoreError::NotAnExecution { path: path.to_owned(), found, advice }
}

/// A later version is named as such before its lines are found to be strange.
fn check_format(path: &Path, text: &[u8]) -> Result<(), StoreError> {
    if !text.starts_with(b"{\"event\":\"execution_began\"") {
        return Ok(());
    }
    let value: Option<serde_json::Value> = serde_json::from_slice(text).ok();
    let format = value.and_then(|value| value.get("format")?.as_u64()).unwrap_or(0);
    if format > u64::from(FORMAT) {
        return Err(StoreError::TooNew { path: path.to_owned(), found: format as u32, known: FORMAT });
    }
    Ok(())
}
