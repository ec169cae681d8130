//! Writes each event to the log, and then reports it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bitcost_analysis::log::Reader;
use bitcost_analysis::summary::{Precision, Summary, summarized_cells};
use bitcost_controller::{Ending, Session};
use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
use bitcost_study::Study;

use crate::error::ExecuteError;
use crate::progress::Progress;
use crate::store::{Growing, StoreError, Writer};
use crate::window::Window;

/// The log of an execution that has ended.
#[derive(Debug)]
pub enum Log {
    /// The log in this folder.
    Folder(PathBuf),
    /// The events, kept in memory alone.
    Memory(Vec<Event>),
}

/// An execution whose log has its first lines.
#[derive(Debug)]
pub struct Executed {
    /// The log of what was measured.
    pub log: Log,
    /// How it ended, or why it stopped early.
    pub ending: Result<Ending, ExecuteError>,
}

/// Where events are written.
pub enum Target {
    /// A file.
    Disk(Writer),
    /// Memory: the events are lost when this process ends.
    Memory(Vec<Event>),
}

impl Target {
    fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        match self {
            Target::Disk(writer) => writer.append(event)?,
            Target::Memory(_) if matches!(event, Event::Progress { .. }) => {}
            Target::Memory(events) => events.push(event.clone()),
        }
        Ok(())
    }

    fn log(self) -> Log {
        match self {
            Target::Disk(writer) => Log::Folder(writer.folder().to_owned()),
            Target::Memory(events) => Log::Memory(events),
        }
    }
}

/// The log as the stop rule reads it: what was appended since it was last asked.
#[derive(Default)]
struct SoFar {
    reader: Reader,
    /// The file; absent for events in memory, and before the first reading.
    file: Option<Growing>,
    /// Number of events that were read from memory.
    taken: usize,
}

impl SoFar {
    fn read_on(&mut self, target: &Target) -> Result<&Reader, StoreError> {
        let reader = &mut self.reader;
        match target {
            Target::Disk(writer) => self
                .file
                .get_or_insert_with(|| Growing::new(writer.folder()))
                .read_on(&mut |place, event| reader.take(place, &event))?,
            Target::Memory(events) => {
                for (place, event) in events.iter().enumerate().skip(self.taken) {
                    reader.take(place, event);
                }
                self.taken = events.len();
            }
        }
        Ok(reader)
    }
}

/// Writes the log of an execution, and reports to a watcher.
pub struct Recorder<'a> {
    target: Target,
    so_far: SoFar,
    window: Window,
    progress: &'a mut dyn Progress,
    /// When this part of the execution began.
    began: Instant,
    /// When its first run began.
    runs_began: Instant,
    /// The time of the runs that were made before it.
    spent_before: Duration,
}

impl<'a> Recorder<'a> {
    /// A recorder that writes to `target`, and then reports to `progress`.
    pub fn new(target: Target, progress: &'a mut dyn Progress) -> Recorder<'a> {
        Recorder {
            target,
            so_far: SoFar::default(),
            window: Window::default(),
            progress,
            began: Instant::now(),
            runs_began: Instant::now(),
            spent_before: Duration::ZERO,
        }
    }

    /// The watcher.
    pub fn progress(&mut self) -> &mut dyn Progress {
        self.progress
    }

    /// Writes an event, then reports it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn record(&mut self, event: &Event) -> Result<(), StoreError> {
        let stopped = self.window.take(event);
        let event = stopped.as_ref().unwrap_or(event);
        self.target.append(event)?;
        self.progress.event(event);
        Ok(())
    }

    /// The stop rule of a study: whether `blocks` are enough, because the least number is reached
    /// and more would not be worth their time, or because the next would exceed the budget.
    fn is_enough(&mut self, study: &Study, blocks: u32) -> Result<bool, String> {
        let Some(rule) = study.until.as_ref().filter(|_| blocks > 0) else {
            return Ok(false);
        };
        let spent = self.spent_before + self.began.elapsed();
        let next = (self.spent_before + self.runs_began.elapsed()) / blocks;
        let is_spent = rule.budget.is_some_and(|budget| spent + next > budget);
        if blocks < study.blocks {
            return Ok(is_spent);
        }
        let reader = self.so_far.read_on(&self.target);
        let reader = reader.map_err(|error| error.to_string())?.clone();
        let precision =
            Precision::from_reader(blocks, reader).map_err(|error| error.to_string())?;
        let Some(precision) = precision else {
            return Ok(false);
        };
        self.progress.precision(&precision);
        Ok(is_spent || precision.is_enough())
    }

    /// Writes the figures of all runs into a log on disk. Nothing is written where no run has
    /// figures.
    fn summarize(&mut self) -> Result<(), String> {
        if matches!(self.target, Target::Memory(_)) {
            return Ok(());
        }
        let reader = self.so_far.read_on(&self.target);
        let reader = reader.map_err(|error| error.to_string())?.clone();
        let summary = Summary::from_reader(reader).map_err(|error| error.to_string())?;
        let cells = summarized_cells(&summary);
        if cells.iter().all(|cell| cell.figures.is_empty()) {
            return Ok(());
        }
        let recorded = self.record(&Event::Summarized { cells });
        recorded.map_err(|error| error.to_string())
    }

    /// Executes the runs that are not in `done`, until the study's stop rule is satisfied.
    pub fn execute(
        mut self,
        session: &mut Session,
        study: &Study,
        plan: &Plan,
        done: &BTreeSet<u32>,
    ) -> Executed {
        self.spent_before = plan.time_of(done);
        self.runs_began = Instant::now();
        let recorder = RefCell::new(self);
        let mut sink = |event| {
            let mut recorder = recorder.borrow_mut();
            if matches!(event, Event::ExecutionEnded { .. }) {
                recorder.summarize()?;
            }
            let recorded = recorder.record(&event);
            recorded.map_err(|error| error.to_string())
        };
        let mut enough = |blocks| recorder.borrow_mut().is_enough(study, blocks);
        let ending = session.execute_until(plan, done, &mut sink, &mut enough);
        let Recorder {
            target, progress, ..
        } = recorder.into_inner();
        progress.end();
        Executed {
            log: target.log(),
            ending: ending.map_err(ExecuteError::from),
        }
    }
}
