//! Writes each event to the log, and then reports it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bitcost_analysis::findings::Findings;
use bitcost_analysis::log::Reader;
use bitcost_analysis::summary::precision_after;
use bitcost_controller::{ControllerError, Ending, Session, Sink};
use bitcost_model::Unavailable;
use bitcost_model::event::{Event, FORMAT};
use bitcost_model::plan::Plan;
use bitcost_model::search::Decision;
use bitcost_model::study::LabSpec;
use bitcost_study::Study;

use crate::error::ExecuteError;
use crate::experiment::{Allows, Bench, search};
use crate::logged::Logged;
use crate::prepared::Prepared;
use crate::progress::Progress;
use crate::store::Writer;
use crate::target::Target;

#[derive(Debug)]
pub struct Executed {
    /// The execution's folder; absent where the log was kept in memory alone.
    pub folder: Option<PathBuf>,
    pub findings: Result<Findings, ExecuteError>,
    pub ending: Result<Ending, ExecuteError>,
}

pub struct Recorder<'a> {
    target: Target,
    /// Takes each event once, when it is written.
    reader: Reader,
    progress: &'a mut dyn Progress,
}

impl<'a> Recorder<'a> {
    pub fn new(target: Target, progress: &'a mut dyn Progress) -> Recorder<'a> {
        Recorder {
            target,
            reader: Reader::default(),
            progress,
        }
    }

    /// The recorder of an execution that is resumed, with its first event.
    pub fn resumed(
        writer: Writer,
        logged: &Logged,
        command_line: Vec<String>,
        progress: &'a mut dyn Progress,
    ) -> Result<Recorder<'a>, ExecuteError> {
        progress.event(&Event::Planned {
            plan: logged.plan.clone(),
        });
        logged.prepared.iter().for_each(|of| progress.event(of));
        progress.completed(&logged.done);
        let mut recorder = Recorder {
            reader: logged.reader.clone(),
            ..Recorder::new(Target::Disk(writer), progress)
        };
        recorder.record(&Event::Resumed {
            at: bitcost_controller::now(),
            command_line,
        })?;
        Ok(recorder)
    }

    /// Writes the first events of an execution: what is executed, and its runs.
    pub fn begin(
        &mut self,
        study: &Study,
        plan: &Plan,
        command_line: Vec<String>,
    ) -> Result<(), ExecuteError> {
        self.record(&Event::ExecutionBegan {
            format: FORMAT,
            bitcost_version: env!("CARGO_PKG_VERSION").to_owned(),
            at: bitcost_controller::now(),
            command_line,
            study: study.name.clone(),
            study_text: study.text.clone(),
            lab_text: study.lab_text.clone(),
        })?;
        self.record(&Event::Planned { plan: plan.clone() })
    }

    pub fn record(&mut self, event: &Event) -> Result<(), ExecuteError> {
        let place = self.target.append(event);
        // What cannot be written is printed all the same.
        self.reader.take(*place.as_ref().unwrap_or(&0), event);
        self.progress.event(event);
        place.map(|_| ())
    }

    /// The stop rule of a study: whether `blocks` are enough, because the least number is reached
    /// and the intervals are narrow enough.
    fn is_enough(&mut self, study: &Study, blocks: u32) -> Result<bool, Unavailable> {
        if study.until.is_none() || blocks < study.blocks.max(1) {
            return Ok(false);
        }
        let precision = precision_after(blocks, self.reader.clone());
        let precision = precision.map_err(|error| Unavailable(error.to_string()))?;
        let Some(precision) = precision else {
            return Ok(false);
        };
        self.progress.precision(&precision);
        Ok(precision.is_done)
    }

    pub fn find(&mut self) -> Result<Findings, ExecuteError> {
        self.target.findings(std::mem::take(&mut self.reader))
    }

    /// Searches fast options for the cells that ask for it, and gives them to the plan, with those that the log has already.
    /// Where the user stops it, the execution that follows ends before its first run.
    pub fn search(
        &mut self,
        prepared: &mut Prepared,
        (study, plan, lab): (&Study, &mut Plan, Option<&LabSpec>),
        allows: Allows,
    ) -> Result<(), ExecuteError> {
        for found in self.reader.searches() {
            // The runs before were made with it.
            let _ = found.settle(plan);
        }
        for cell in 0..plan.cells.len() {
            let mut known = self.reader.searches().iter();
            let is_known = known.any(|found| found.cell == Some(cell));
            if is_known || !plan.cells[cell].conditions.mode_auto {
                continue;
            }
            let mut bench = Bench::new(prepared, &mut self.target, allows, &mut *self.progress);
            let Some(found) = search(&mut bench, (study, plan, cell), lab)? else {
                return Ok(());
            };
            // The trials were made with it.
            let _ = found.settle(plan);
            let decision = Box::new(Decision::Changes(serde_json::json!(found)));
            self.record(&Event::Decided { decision })?;
        }
        Ok(())
    }

    /// Executes the runs that are not in `done`, until the study's stop rule is satisfied.
    pub fn execute(
        self,
        session: &mut Session,
        (study, plan): (&Study, &Plan),
        done: &BTreeSet<u32>,
    ) -> (Executed, Target) {
        self.watched(|sink, recorder| {
            session.keeps_interrupted = plan.runs.len() == 1;
            let mut enough = |blocks| recorder.borrow_mut().is_enough(study, blocks);
            let ending = session.execute_until(plan, done, sink, &mut enough);
            session.keeps_interrupted = false;
            ending
        })
    }

    pub fn watched(
        self,
        make: impl FnOnce(&mut Sink, &RefCell<Recorder>) -> Result<Ending, ControllerError>,
    ) -> (Executed, Target) {
        let recorder = RefCell::new(self);
        let mut sink = |event| {
            let recorded = recorder.borrow_mut().record(&event);
            recorded.map_err(|error| Unavailable(error.to_string()))
        };
        let ending = make(&mut sink, &recorder);
        let mut recorder = recorder.into_inner();
        let executed = Executed {
            folder: recorder.target.folder().map(Path::to_owned),
            findings: recorder.find(),
            ending: ending.map_err(ExecuteError::from),
        };
        (executed, recorder.target)
    }
}
