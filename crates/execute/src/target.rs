//! Where events are written.

use std::path::Path;
use std::rc::Rc;

use bitcost_analysis::findings::{Findings, LogPlace};
use bitcost_analysis::log::Reader;
use bitcost_model::event::Event;

use crate::error::ExecuteError;
use crate::findings::of_log;
use crate::store::Writer;

pub enum Target {
    Disk(Writer),
    /// Memory: the events are lost when this process ends.
    Memory(Vec<Event>),
}

impl Target {
    /// Appends an event; returns its place in the log.
    pub fn append(&mut self, event: &Event) -> Result<usize, ExecuteError> {
        match self {
            Target::Disk(writer) => writer.append(event),
            Target::Memory(events) => {
                if !matches!(event, Event::Progress { .. }) {
                    events.push(event.clone());
                }
                Ok(events.len().saturating_sub(1))
            }
        }
    }

    pub fn folder(&self) -> Option<&Path> {
        match self {
            Target::Disk(writer) => Some(writer.folder()),
            Target::Memory(_) => None,
        }
    }

    /// The file, as it is now.
    pub fn place(&self) -> Result<Option<LogPlace>, ExecuteError> {
        match self {
            Target::Disk(writer) => Ok(Some(writer.log()?.place())),
            Target::Memory(_) => Ok(None),
        }
    }

    /// What a reader took of all the events. Those in memory are taken away.
    pub fn findings(&mut self, reader: Reader) -> Result<Findings, ExecuteError> {
        match self {
            Target::Disk(writer) => of_log(writer.log()?, reader),
            Target::Memory(events) => {
                let events = Rc::new(std::mem::take(events));
                let found = Findings::of("test".to_owned(), events, reader);
                found.map_err(|error| ExecuteError::Usage(error.to_string()))
            }
        }
    }
}
