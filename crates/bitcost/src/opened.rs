//! Executions that were read from their folders.

use std::path::{Path, PathBuf};

use report::Summary;
use report::frame::Execution;
use store::Log;

use crate::failure::Failure;
use crate::output;

/// A log with the name of its execution.
pub struct Opened {
    /// The folder's name.
    pub name: String,
    /// Its log.
    pub log: Log,
}

impl Opened {
    /// Reads a folder, and says what could not be read of it.
    ///
    /// # Errors
    /// Usage, when it holds no log.
    pub fn open(folder: &Path) -> Result<Opened, Failure> {
        let log = store::read(folder)?;
        report_cut(&log);
        let whole = whole(&log);
        let name =
            whole.file_name().map_or_else(|| whole.display().to_string(), |name| name.to_string_lossy().into_owned());
        Ok(Opened { name, log })
    }

    /// Its folder's path from the root.
    pub fn whole_path(&self) -> PathBuf {
        whole(&self.log)
    }

    /// What the log tells.
    ///
    /// # Errors
    /// Usage, when it holds no study or no plan.
    pub fn execution(&self) -> Result<Execution<'_>, Failure> {
        let summary = Summary::from_events(&self.log.events);
        let summary = summary.map_err(|error| {
            Failure::Usage(format!("{}: {error}; events read: {}", self.log.folder.display(), self.log.events.len()))
        })?;
        Ok(Execution { name: self.name.clone(), events: &self.log.events, summary })
    }
}

fn whole(log: &Log) -> PathBuf {
    log.folder.canonicalize().unwrap_or_else(|_| log.folder.clone())
}

/// Reads all these folders; no two have one name.
///
/// # Errors
/// As [`Opened::open`].
pub fn open_all(folders: &[PathBuf]) -> Result<Vec<Opened>, Failure> {
    let mut logs = folders.iter().map(|folder| Opened::open(folder)).collect::<Result<Vec<_>, _>>()?;
    name_apart(&mut logs);
    Ok(logs)
}

/// Gives those whose folders have the same name the folders' paths as names.
pub fn name_apart(logs: &mut [Opened]) {
    let names: Vec<String> = logs.iter().map(|opened| opened.name.clone()).collect();
    for opened in logs {
        if names.iter().filter(|name| **name == opened.name).count() > 1 {
            opened.name = opened.log.folder.display().to_string();
        }
    }
}

/// What all logs tell.
///
/// # Errors
/// Usage, when one holds no study or no plan.
pub fn executions(logs: &[Opened]) -> Result<Vec<Execution<'_>>, Failure> {
    logs.iter().map(Opened::execution).collect()
}

/// Says what follows the last whole line of a log.
pub fn report_cut(log: &Log) {
    if let Some(cut) = &log.incomplete {
        output::say(&format!(
            "bitcost: the log is cut short: line {} has {} bytes and no end; it is left out",
            cut.line, cut.bytes
        ));
    }
}
