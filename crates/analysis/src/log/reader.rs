//! Reads the events of a log one after the other: it keeps the data of each run that tables need,
//! and drops its records.

use std::collections::BTreeMap;
use std::rc::Rc;

use bitcost_model::Unavailable;
use bitcost_model::event::{Event, FORMAT, FailureKind};
use bitcost_model::harmless;
use bitcost_model::imported::ImportedRun;
use bitcost_model::plan::Plan;
use bitcost_model::record::{EndpointRecord, Role};
use bitcost_model::search::{Decision, Search};
use bitcost_study::Study;
use bitcost_study::mode_search::apply;
use serde::Deserialize;

use super::error::LogError;
use super::place::{FirstRun, PlaceFacts};
use super::reduced::{Imported, Reduced};
use super::stopped::until_stopped_text;
use crate::cells::{RunRow, Status};
use crate::experiment::Ladder;
use crate::explain::{MANY, Proof};
use crate::metrics::RunView;
use crate::profile::{Place, RunProfile, run_profile};
use crate::summary::Summary;

#[derive(Clone)]
pub(crate) enum Outcome {
    Ended(Box<Reduced>),
    Failed(Unfinished),
    Imported(Imported),
}

#[derive(Clone)]
pub(crate) struct Unfinished {
    pub kind: FailureKind,
    pub reason: String,
    /// Whether a host lacks something that the run asks for.
    pub host_lacks: bool,
}

impl Unfinished {
    /// The run of an event of a run that failed or was stopped; absent for other events.
    fn of(event: &Event, plan: Option<&Plan>) -> Option<Unfinished> {
        let Event::RunFailed {
            run,
            kind,
            reason,
            host_lacks,
            until_stopped,
        } = event
        else {
            return None;
        };
        let conditions = plan.and_then(|plan| plan.conditions_of(*run));
        let until = conditions
            .zip(until_stopped.as_deref())
            .and_then(|(conditions, stopped)| until_stopped_text(conditions, stopped));
        let until = until.map_or_else(String::new, |until| format!(" {until}"));
        Some(Unfinished {
            kind: *kind,
            reason: format!("{reason}{until}"),
            host_lacks: *host_lacks,
        })
    }
}

/// The data from the events of an execution, before anything is counted.
#[derive(Clone)]
pub struct Log {
    /// What is known so far, still without figures.
    pub(crate) summary: Summary,
    format: u32,
    /// What experiments prove.
    pub(crate) proof: Option<Proof>,
    /// What makes the test faster or cheaper, where changes were tried.
    pub(crate) ladder: Option<Ladder>,
    /// The last outcome of each run, with the place of its event.
    pub(crate) outcomes: BTreeMap<u32, (usize, Outcome)>,
    pub(crate) began: BTreeMap<u32, String>,
    /// Blocks after which the stop rule was met.
    pub(crate) enough_blocks: Option<u32>,
    /// The first run of the only cell.
    pub(crate) first_run: Option<Rc<FirstRun>>,
    /// The profiled twin of each run, or why it is left out.
    pub(crate) profiled: BTreeMap<u32, Result<Rc<RunProfile>, Unavailable>>,
}

/// Takes the events of an execution one after the other, and then gives the result.
#[derive(Clone, Default)]
pub struct Reader {
    log: Option<Log>,
    plan: Option<Plan>,
    place: Option<PlaceFacts>,
    error: Option<LogError>,
}

impl Reader {
    /// Takes the next event, with its place among them ([`bitcost_model::event::Events::each`]).
    pub fn take(&mut self, place: usize, event: &Event) {
        if self.error.is_some() {
            return;
        }
        let taken = match (&mut self.log, event) {
            (None, Event::ExecutionBegan { .. }) => Log::new(event).map(|log| self.log = Some(log)),
            (None, _) => Ok(()),
            (Some(log), event) => log.take(place, event, &mut self.plan, &mut self.place),
        };
        self.error = taken.err();
    }

    /// The data from all the events, and the plan of the runs.
    ///
    /// # Errors
    /// If they do not hold a study and exactly one plan, or contradict each other.
    pub fn finish(self) -> Result<(Log, Plan), LogError> {
        let log = self.error.map_or(Ok(self.log), Err)?;
        let log = log.ok_or(LogError::NoStudy)?;
        Ok((log, self.plan.ok_or(LogError::NoPlan)?))
    }
}

impl Log {
    fn new(first: &Event) -> Result<Log, LogError> {
        let Event::ExecutionBegan {
            format,
            bitcost_version,
            at,
            command_line,
            study,
            study_text,
            lab_text,
            ..
        } = first
        else {
            return Err(LogError::NoStudy);
        };
        let file = format!("{study}.toml");
        let mut study_read = Study::parse_with(&file, study_text, lab_text.as_deref())?;
        study_read.name.clone_from(study);
        let (version, at) = (bitcost_version.clone(), at.clone());
        Ok(Log {
            summary: Summary::begun(study_read, version, at, command_line.clone()),
            format: *format,
            proof: None,
            ladder: None,
            outcomes: BTreeMap::new(),
            began: BTreeMap::new(),
            enough_blocks: None,
            first_run: None,
            profiled: BTreeMap::new(),
        })
    }

    fn take(
        &mut self,
        place: usize,
        event: &Event,
        plan: &mut Option<Plan>,
        facts: &mut Option<PlaceFacts>,
    ) -> Result<(), LogError> {
        match event {
            Event::Planned { .. } if plan.is_some() => return Err(LogError::SecondPlan),
            Event::Planned { plan: planned } => {
                self.check_plan(planned)?;
                *plan = Some(planned.clone());
            }
            Event::Prepared {
                lab,
                endpoints,
                shared_cpus,
                notes,
                ..
            } => {
                self.summary.place_notes.clone_from(notes);
                self.summary.lab.clone_from(lab);
                self.summary.ends.clone_from(endpoints);
                self.summary.shared_cpus = *shared_cpus;
                *facts = Some(PlaceFacts::new(*shared_cpus, endpoints));
            }
            Event::Constants { machines } => self.summary.constants.clone_from(machines),
            Event::Calibrated { calibration } => {
                self.summary.calibration = Some(calibration.clone());
            }
            Event::Decided { decision } => self.decided(decision, plan.as_mut()),
            Event::RunEnded {
                run,
                sender,
                receiver,
                ..
            } => {
                let outcome = self.reduced(*run, [sender, receiver], plan.as_ref(), *facts)?;
                return self.end(*run, place, Outcome::Ended(Box::new(outcome)));
            }
            Event::RunProfiled {
                run,
                sender,
                receiver,
                ..
            } => self.profile(*run, [sender, receiver], plan.as_ref(), *facts),
            Event::RunNotProfiled { run, reason } => {
                let reason = Unavailable(harmless(reason));
                self.profiled.insert(*run, Err(reason));
            }
            Event::RunFailed { run, .. } => {
                if let Some(failed) = Unfinished::of(event, plan.as_ref()) {
                    return self.end(*run, place, Outcome::Failed(failed));
                }
            }
            Event::RunImported { run, imported } => {
                self.summary.is_imported = true;
                let ImportedRun { figures, notes, .. } = &**imported;
                return self.end(*run, place, Outcome::Imported(Imported::of(figures, notes)));
            }
            Event::RunBegan { run, at } => self.begin(*run, at),
            Event::ExecutionEnded { enough_blocks, .. } => {
                self.summary.is_ended = true;
                self.enough_blocks = *enough_blocks;
            }
            Event::ExecutionBegan { .. }
            | Event::Tried { .. }
            | Event::Resumed { .. }
            | Event::Summarized { .. }
            | Event::Progress { .. }
            | Event::Reconnecting { .. } => {}
        }
        Ok(())
    }

    /// Checks that the plan is the one that study and seed give. The plan of another version of
    /// bitcost or of the log may differ, as defaults do, which is a caveat.
    fn check_plan(&mut self, plan: &Plan) -> Result<(), LogError> {
        let difference = plan
            .lengths
            .and_then(|_| self.summary.study.plan_difference(plan));
        let Some(what) = difference else {
            return Ok(());
        };
        if self.summary.bitcost_version == env!("CARGO_PKG_VERSION") && self.format == FORMAT {
            return Err(LogError::OtherPlan(what));
        }
        self.summary.caveats.push(format!(
            "bitcost {}, with format {} of the log, made its plan, and this version makes a different one from its study and seed: {what}",
            self.summary.bitcost_version, self.format
        ));
        Ok(())
    }

    /// Takes what trials decided; the last decision of a kind counts.
    fn decided(&mut self, decision: &Decision, plan: Option<&mut Plan>) {
        let read = match decision {
            Decision::Mode(search) => return self.settle(search, plan),
            Decision::Bottleneck(proof) => {
                Proof::deserialize(proof).map(|proof| self.proof = Some(proof))
            }
            Decision::Changes(ladder) => {
                Ladder::deserialize(ladder).map(|ladder| self.ladder = Some(ladder))
            }
        };
        if let Err(why) = read {
            let caveat = format!("what experiments decided cannot be read: {why}");
            self.summary.caveats.push(caveat);
        }
    }

    /// Gives a cell the options that its search took.
    fn settle(&mut self, search: &Search, plan: Option<&mut Plan>) {
        let cell = plan.and_then(|plan| plan.cells.get_mut(search.cell));
        let applied = cell.map(|cell| apply(&search.taken, &mut cell.conditions));
        if let Some(Err(why)) = applied {
            self.summary
                .caveats
                .push(format!("an option that a search chose is unknown: {why}"));
        }
        self.summary
            .searches
            .retain(|known| known.cell != search.cell);
        self.summary.searches.push(search.clone());
    }

    /// The data that is kept of a run's records.
    fn reduced(
        &mut self,
        run: u32,
        ends: [&EndpointRecord; 2],
        plan: Option<&Plan>,
        place: Option<PlaceFacts>,
    ) -> Result<Reduced, LogError> {
        let plan = plan.ok_or(LogError::NoPlan)?;
        let mut at_place = plan.runs.get(run as usize).into_iter();
        let planned = at_place
            .find(|planned| planned.index == run)
            .or_else(|| plan.runs.iter().find(|planned| planned.index == run));
        let planned = planned.and_then(|planned| Some((planned, plan.cells.get(planned.cell)?)));
        let (planned, cell) = planned.ok_or(LogError::UnknownRun {
            run,
            runs: plan.runs.len(),
        })?;
        let calibration = self.summary.calibration.as_ref();
        let capacity = calibration.and_then(|found| found.of_cell(planned.cell)?.mbps());
        let facts = place.unwrap_or_default();
        let view = facts.view(ends, &cell.conditions, capacity);
        let each_second = self.summary.study.table.each_second;
        self.summary.is_placed &= place.is_some();
        let is_kept = self.outcomes.len() < MANY;
        let reduced = Reduced::of(planned, &cell.levels, &view, (each_second, is_kept));
        if plan.cells.len() == 1 {
            self.keep_first(&reduced.row, &view, facts);
        }
        Ok(reduced)
    }

    /// Keeps the profiled twin of a run, from its records of sender and receiver.
    fn profile(
        &mut self,
        run: u32,
        ends: [&EndpointRecord; 2],
        plan: Option<&Plan>,
        facts: Option<PlaceFacts>,
    ) {
        let Some(conditions) = plan.and_then(|plan| plan.conditions_of(run)) else {
            return;
        };
        let view = facts.unwrap_or_default().view(ends, conditions, None);
        let hosts = [Role::Sender, Role::Receiver].into_iter().zip(ends);
        let hosts: Vec<_> = hosts
            .filter_map(|(role, end)| {
                let place = Place::of(role, self.summary.shared_cpus, &self.summary.ends);
                Some((end.profile.as_deref()?, place))
            })
            .collect();
        let profiled = run_profile(&hosts, &view).map(Rc::new);
        self.profiled.insert(run, profiled);
    }

    /// Keeps the records of the first run that is used, or of the first one where none is.
    fn keep_first(&mut self, row: &RunRow, view: &RunView, place: PlaceFacts) {
        let (run, is_left_out) = (row.run, row.status == Status::LeftOut);
        let is_better =
            |known: &Rc<FirstRun>| !is_left_out && (known.is_left_out || known.run == run);
        if self.first_run.as_ref().is_none_or(is_better) {
            self.first_run = Some(Rc::new(FirstRun {
                run,
                is_left_out,
                place,
                conditions: view.conditions.clone(),
                ends: [view.sender.clone(), view.receiver.clone()],
                capacity_mbps: view.capacity_mbps,
            }));
        }
    }

    fn end(&mut self, run: u32, place: usize, outcome: Outcome) -> Result<(), LogError> {
        if self.outcomes.insert(run, (place, outcome)).is_some() {
            return Err(LogError::SecondResult { run });
        }
        Ok(())
    }

    fn begin(&mut self, run: u32, at: &str) {
        self.outcomes.remove(&run);
        self.first_run.take_if(|first| first.run == run);
        self.began.insert(run, at.to_owned());
    }
}
