//! Executions that were read from their folders.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use model::event::{Event, Events};
use model::units::counted;
use report::frame::Execution;
use report::{Reader, ReportError, Summary};
use store::{Damaged, End, LogFile};

use crate::failure::Failure;
use crate::output;

/// How a log is read.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Reading {
    /// Leave out lines of a log that do not match their checksums or cannot be read, and say which, instead of refusing the log
    #[arg(long)]
    damaged: bool,
}

/// A log with the name of its execution.
pub struct Opened {
    /// The folder's name.
    pub name: String,
    source: Source,
    /// What must be known of the log itself, a sentence each.
    caveats: Vec<String>,
    /// What the events tell, until it is asked for.
    summary: RefCell<Option<Result<Summary, ReportError>>>,
}

/// Where the events are.
enum Source {
    Disk(LogFile),
    Memory(Vec<Event>),
}

impl Opened {
    /// Reads a folder, and says what could not be read of it.
    ///
    /// # Errors
    /// Usage, when it holds no log, or a damaged one.
    pub fn open(folder: &Path) -> Result<Opened, Failure> {
        Opened::open_as(folder, Reading::default())
    }

    /// As [`Opened::open`], where the user may ask for a damaged log to be read.
    ///
    /// # Errors
    /// As [`Opened::open`].
    pub fn open_as(folder: &Path, reading: Reading) -> Result<Opened, Failure> {
        let mut log = LogFile::open(folder, if reading.damaged { Damaged::LeaveOut } else { Damaged::Refuse })?;
        let mut reader = Reader::default();
        let end = log.read(&mut |place, event| reader.take(place, &event))?;
        report_cut(&end);
        let whole = log.folder().canonicalize().unwrap_or_else(|_| log.folder().to_owned());
        let name =
            whole.file_name().map_or_else(|| whole.display().to_string(), |name| name.to_string_lossy().into_owned());
        let summary = RefCell::new(Some(reader.summary()));
        Ok(Opened { name, source: Source::Disk(log), caveats: caveats(&end), summary })
    }

    /// An execution whose log is nowhere written.
    pub fn in_memory(name: &str, events: Vec<Event>) -> Opened {
        let summary = RefCell::new(None);
        Opened { name: name.to_owned(), source: Source::Memory(events), caveats: Vec::new(), summary }
    }

    /// The log's file.
    ///
    /// # Errors
    /// Usage, where it is in memory.
    pub fn file(&self) -> Result<&LogFile, Failure> {
        match &self.source {
            Source::Disk(log) => Ok(log),
            Source::Memory(_) => Err(Failure::Usage("the runs of `bitcost test` have no log".to_owned())),
        }
    }

    /// Its folder as it was named.
    pub fn folder(&self) -> &Path {
        self.file().map_or(Path::new(""), LogFile::folder)
    }

    /// Its folder's path from the root.
    pub fn whole_path(&self) -> PathBuf {
        self.folder().canonicalize().unwrap_or_else(|_| self.folder().to_owned())
    }

    fn events(&self) -> Events<'_> {
        match &self.source {
            Source::Disk(log) => Events::Stored(log),
            Source::Memory(events) => Events::InMemory(events),
        }
    }

    /// What the log tells.
    ///
    /// # Errors
    /// Usage, when it holds no study or no plan, or its events contradict each other.
    pub fn execution(&self) -> Result<Execution<'_>, Failure> {
        let read = || {
            let mut reader = Reader::default();
            self.events().each(&|_| true, &mut |place, event| reader.take(place, event));
            reader.summary()
        };
        let summary = self.summary.take().unwrap_or_else(read);
        let mut summary = summary.map_err(|error| Failure::Usage(format!("{}: {error}", self.folder().display())))?;
        summary.caveats.splice(0..0, self.caveats.iter().cloned());
        Ok(Execution { name: self.name.clone(), events: self.events(), summary })
    }
}

/// Says on standard error what must be known of logs whose form of output has no place for it.
pub fn say_caveats(executions: &[Execution]) {
    for execution in executions {
        let name = if executions.len() > 1 { format!("{}: ", execution.name) } else { String::new() };
        execution.summary.caveats.iter().for_each(|caveat| output::say(&format!("caveat: {name}{caveat}")));
    }
}

/// Lines that are numbered in one sentence.
const NUMBERED: usize = 10;

fn caveats(end: &End) -> Vec<String> {
    let mut found = Vec::new();
    if !end.damaged.is_empty() {
        let numbers: Vec<String> = end.damaged.iter().take(NUMBERED).map(usize::to_string).collect();
        let more = if end.damaged.len() > NUMBERED { ", …" } else { "" };
        let lines = counted(end.damaged.len(), "line");
        found.push(format!(
            "the log is damaged: {lines} could not be verified and are left out ({}{more}); what stands in them is missing",
            numbers.join(", ")
        ));
    }
    if let Some(format) = end.format.filter(|_| !end.has_checksums()) {
        found.push(format!(
            "the log is of format {format}, whose lines have no checksums: whether its figures were changed cannot be told"
        ));
    }
    found
}

/// Reads all these folders; no two have one name.
///
/// # Errors
/// As [`Opened::open`].
pub fn open_all(folders: &[PathBuf], reading: Reading) -> Result<Vec<Opened>, Failure> {
    let mut logs = folders.iter().map(|folder| Opened::open_as(folder, reading)).collect::<Result<Vec<_>, _>>()?;
    name_apart(&mut logs);
    Ok(logs)
}

/// Gives those whose folders have the same name the folders' paths as names.
pub fn name_apart(logs: &mut [Opened]) {
    let names: Vec<String> = logs.iter().map(|opened| opened.name.clone()).collect();
    for opened in logs {
        if names.iter().filter(|name| **name == opened.name).count() > 1 {
            opened.name = opened.folder().display().to_string();
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
pub fn report_cut(end: &End) {
    if let Some(cut) = &end.incomplete {
        output::say(&format!(
            "bitcost: the log is cut short: line {} has {} bytes and no end; it is left out",
            cut.line, cut.bytes
        ));
    }
}
