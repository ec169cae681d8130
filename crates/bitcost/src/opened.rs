//! Executions that were read from their folders.

use std::path::Path;

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
        let whole = log.folder.canonicalize().unwrap_or_else(|_| log.folder.clone());
        let name =
            whole.file_name().map_or_else(|| whole.display().to_string(), |name| name.to_string_lossy().into_owned());
        Ok(Opened { name, log })
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
