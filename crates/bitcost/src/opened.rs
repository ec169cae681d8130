//! Executions that were read from their folders.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use bitcost_analysis::execution::Execution;
use bitcost_analysis::log::{LogError, Reader};
use bitcost_analysis::summary::Summary;
use bitcost_execute::Log;
use bitcost_execute::store::{Damaged, End, LogFile, USUAL_PARENT, newest};
use bitcost_model::event::{Event, Events};
use bitcost_model::units::counted;

use crate::failure::Failure;
use crate::{output, own_json};

/// How a log is read.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Reading {
    /// Leave out lines of a log that do not match their checksums or cannot be read, and say which,
    /// instead of refusing the log
    #[arg(long)]
    damaged: bool,
}

/// A log with the name of its execution.
pub struct Opened {
    /// The folder's name.
    pub name: String,
    source: Source,
    /// Caveats of the log itself, one sentence each.
    caveats: Vec<String>,
    /// The summary of the events, until it is taken.
    summary: RefCell<Option<Result<Summary, LogError>>>,
}

/// The place of the events.
enum Source {
    Disk(LogFile),
    Memory(Vec<Event>),
}

impl Opened {
    /// Reads a folder, and reports the parts of its log that could not be read.
    ///
    /// # Errors
    /// Usage, when it holds no log, or a damaged one.
    pub fn open(folder: &Path) -> Result<Opened, Failure> {
        Opened::open_as(folder, Reading::default())
    }

    /// As [`Opened::open`], but the user may ask for a damaged log to be read.
    ///
    /// # Errors
    /// As [`Opened::open`].
    pub fn open_as(folder: &Path, reading: Reading) -> Result<Opened, Failure> {
        let mut log = LogFile::open(
            folder,
            if reading.damaged {
                Damaged::LeaveOut
            } else {
                Damaged::Refuse
            },
        )
        .map_err(|error| own_json::refused(folder).unwrap_or_else(|| error.into()))?;
        let mut reader = Reader::default();
        let end = log.read(&mut |place, event| reader.take(place, &event))?;
        report_cut(&end);
        let whole = log
            .folder()
            .canonicalize()
            .unwrap_or_else(|_| log.folder().to_owned());
        let name = whole.file_name().map_or_else(
            || whole.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        let summary = RefCell::new(Some(Summary::from_reader(reader)));
        Ok(Opened {
            name,
            source: Source::Disk(log),
            caveats: caveats(&end),
            summary,
        })
    }

    /// An execution without a log on disk.
    pub fn in_memory(name: &str, events: Vec<Event>) -> Opened {
        let summary = RefCell::new(None);
        Opened {
            name: name.to_owned(),
            source: Source::Memory(events),
            caveats: Vec::new(),
            summary,
        }
    }

    /// The execution that was just made.
    ///
    /// # Errors
    /// As [`Opened::open`].
    pub fn of(log: Log) -> Result<Opened, Failure> {
        match log {
            Log::Folder(folder) => Opened::open(&folder),
            Log::Memory(events) => Ok(Opened::in_memory("test", events)),
        }
    }

    /// The log's file.
    ///
    /// # Errors
    /// Usage, when it is in memory.
    pub fn file(&self) -> Result<&LogFile, Failure> {
        match &self.source {
            Source::Disk(log) => Ok(log),
            Source::Memory(_) => Err(Failure::Usage(
                "the runs of `bitcost test --no-log` have no log".to_owned(),
            )),
        }
    }

    /// Its folder as the user named it.
    pub fn folder(&self) -> &Path {
        self.file().map_or(Path::new(""), LogFile::folder)
    }

    /// Removes the log and its folder, and the folder around it if that is empty and has the usual
    /// name. What cannot be removed stays.
    pub fn remove(&self) {
        let Ok(log) = self.file() else { return };
        if std::fs::remove_file(log.path()).is_err() {
            return;
        }
        let _ = std::fs::remove_dir(log.folder());
        let around = log.folder().parent();
        let usual = around.filter(|folder| *folder == Path::new(USUAL_PARENT));
        if let Some(folder) = usual {
            let _ = std::fs::remove_dir(folder);
        }
    }

    /// The absolute path of its folder.
    pub fn whole_path(&self) -> PathBuf {
        self.folder()
            .canonicalize()
            .unwrap_or_else(|_| self.folder().to_owned())
    }

    fn events(&self) -> Events<'_> {
        match &self.source {
            Source::Disk(log) => Events::Stored(log),
            Source::Memory(events) => Events::InMemory(events),
        }
    }

    /// The execution with its summary.
    ///
    /// # Errors
    /// Usage, when it holds no study or no plan, or its events contradict each other.
    pub fn execution(&self) -> Result<Execution<'_>, Failure> {
        let read = || {
            let mut reader = Reader::default();
            self.events()
                .each(&|_| true, &mut |place, event| reader.take(place, event));
            Summary::from_reader(reader)
        };
        let summary = self.summary.take().unwrap_or_else(read);
        let mut summary = summary
            .map_err(|error| Failure::Usage(format!("{}: {error}", self.folder().display())))?;
        summary.caveats.splice(0..0, self.caveats.iter().cloned());
        Ok(Execution {
            name: self.name.clone(),
            events: self.events(),
            summary,
        })
    }
}

/// Prints on standard error where the log is; prints nothing if there is no log.
pub fn say_place(opened: &Opened) {
    if let Ok(log) = opened.file() {
        output::say(&format!("log: {}", log.path().display()));
    }
}

/// Prints on standard error where the log is, and how its table is printed again; prints nothing if
/// there is no log.
pub fn say_log(opened: &Opened) {
    if let Ok(log) = opened.file() {
        say_place(opened);
        output::say(&format!(
            "again: bitcost show {}",
            output::shell_word(log.folder())
        ));
    }
}

/// Prints the caveats of logs on standard error, for forms of output that cannot hold them.
pub fn say_caveats(executions: &[Execution]) {
    for execution in executions {
        let name = if executions.len() > 1 {
            format!("{}: ", execution.name)
        } else {
            String::new()
        };
        execution
            .summary
            .caveats
            .iter()
            .for_each(|caveat| output::say(&format!("caveat: {name}{caveat}")));
    }
}

/// Most line numbers that one sentence lists.
const NUMBERED: usize = 10;

fn caveats(end: &End) -> Vec<String> {
    let mut found = Vec::new();
    if !end.damaged.is_empty() {
        let numbers: Vec<String> = end
            .damaged
            .iter()
            .take(NUMBERED)
            .map(usize::to_string)
            .collect();
        let more = if end.damaged.len() > NUMBERED {
            ", …"
        } else {
            ""
        };
        let lines = counted(end.damaged.len(), "line");
        found.push(format!(
            "the log is damaged: {lines} could not be verified and are left out ({}{more}); their contents are missing",
            numbers.join(", ")
        ));
    }
    if let Some(format) = end.format.filter(|_| !end.has_checksums()) {
        found.push(format!(
            "the log is of format {format}, whose lines have no checksums: a change of its figures would not be noticed"
        ));
    }
    found
}

/// Reads all these folders, or the newest execution where none is named, and gives no two logs the
/// same name.
///
/// # Errors
/// As [`Opened::open`].
pub fn open_all(folders: &[PathBuf], reading: Reading) -> Result<Vec<Opened>, Failure> {
    let newest: Vec<PathBuf> = match folders {
        [] => vec![newest_folder()?],
        _ => Vec::new(),
    };
    let mut logs = folders
        .iter()
        .chain(&newest)
        .map(|folder| Opened::open_as(folder, reading))
        .collect::<Result<Vec<_>, _>>()?;
    name_apart(&mut logs);
    Ok(logs)
}

/// The newest execution, where the user named none; says which it is.
///
/// # Errors
/// Usage, when there is none.
pub fn newest_folder() -> Result<PathBuf, Failure> {
    let folder = newest().ok_or_else(|| {
        Failure::Usage(format!(
            "no execution was named, and {USUAL_PARENT} holds none; `bitcost test tcp` makes one, and any other is named by its folder"
        ))
    })?;
    output::say(&format!("the newest execution: {}", folder.display()));
    Ok(folder)
}

/// Renames logs whose folders have the same name: each is named by the path of its folder.
pub fn name_apart(logs: &mut [Opened]) {
    let names: Vec<String> = logs.iter().map(|opened| opened.name.clone()).collect();
    for opened in logs {
        if names.iter().filter(|name| **name == opened.name).count() > 1 {
            opened.name = opened.folder().display().to_string();
        }
    }
}

/// The executions of all logs, with their summaries.
///
/// # Errors
/// Usage, when one holds no study or no plan.
pub fn executions(logs: &[Opened]) -> Result<Vec<Execution<'_>>, Failure> {
    logs.iter().map(Opened::execution).collect()
}

/// Prints what follows the last whole line of a log.
pub fn report_cut(end: &End) {
    if let Some(cut) = &end.incomplete {
        output::say(&format!(
            "bitcost: the log is cut short: line {} has {} bytes and no end; it is left out",
            cut.line, cut.bytes
        ));
    }
}
