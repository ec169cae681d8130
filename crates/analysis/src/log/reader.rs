//! Reads the events of a log one after the other: it keeps the data of each run that tables need,
//! and drops its records.

use std::collections::BTreeSet;
use std::rc::Rc;

use bitcost_model::Unavailable;
use bitcost_model::event::{Event, FailureKind};
use bitcost_model::harmless;
use bitcost_model::imported::ImportedRun;
use bitcost_model::plan::Plan;
use bitcost_model::record::EndpointRecord;
use bitcost_model::search::Decision;
use bitcost_study::Study;
use serde::Deserialize;

use super::caveats::caveats_of;
use super::error::LogError;
use super::place::{FirstRun, PlaceFacts};
use super::row::row_of;
use crate::cells::{RunRow, Status, Told};
use crate::experiment::Ladder;
use crate::explain::{MANY, Proof};
use crate::metrics::{Figures, WITH_INTERVAL, single_run};
use crate::profile::{Place, run_profile};
use crate::summary::Summary;

/// The data from the events of an execution, before anything is counted.
#[derive(Clone, Default)]
pub struct Log {
    /// What is known so far, still without figures.
    pub summary: Summary,
    plan: Option<Plan>,
    place: Option<PlaceFacts>,
    pub(crate) proof: Option<Proof>,
    pub(crate) ladder: Option<Ladder>,
    pub(crate) searches: Vec<Ladder>,
    /// Each run of the plan, in its order, with its last outcome; its block and cell are not set yet.
    pub(crate) rows: Vec<RunRow>,
    /// What is said of runs, once where it is the same of many.
    told: BTreeSet<Rc<Told>>,
    /// Blocks after which the stop rule was met.
    pub(crate) enough_blocks: Option<u32>,
    pub(crate) first_run: Option<Rc<FirstRun>>,
}

/// Takes the events of an execution one after the other, and then gives the result.
#[derive(Clone, Default)]
pub struct Reader {
    log: Option<Log>,
    error: Option<LogError>,
}

impl Reader {
    /// Takes the next event, with its place among them ([`bitcost_model::event::Events::each`]).
    pub fn take(&mut self, place: usize, event: &Event) {
        if self.error.is_some() {
            return;
        }
        let taken = match &mut self.log {
            Some(log) => log.take(place, event),
            None => Log::begun(event).map(|log| self.log = log),
        };
        self.error = taken.err();
    }

    pub fn searches(&self) -> &[Ladder] {
        self.log.as_ref().map_or(&[], |log| &log.searches)
    }

    /// The data from all the events, and the plan of the runs.
    pub fn finish(self) -> Result<(Log, Plan), LogError> {
        let log = self.error.map_or(Ok(self.log), Err)?;
        let mut log = log.ok_or(LogError::NoStudy)?;
        let plan = log.plan.take().ok_or(LogError::NoPlan)?;
        Ok((log, plan))
    }
}

impl Log {
    /// The log of an execution that begins with this event; absent for any other.
    fn begun(first: &Event) -> Result<Option<Log>, LogError> {
        let Event::ExecutionBegan {
            bitcost_version,
            at,
            command_line,
            study: name,
            study_text,
            lab_text,
            ..
        } = first
        else {
            return Ok(None);
        };
        let file = format!("{name}.toml");
        let mut study = Study::parse_with(&file, study_text, lab_text.as_deref())?;
        study.name.clone_from(name);
        Ok(Some(Log {
            summary: Summary {
                study,
                bitcost_version: bitcost_version.clone(),
                began_at: at.clone(),
                command_line: command_line.clone(),
                is_placed: true,
                ..Summary::default()
            },
            ..Log::default()
        }))
    }

    fn take(&mut self, place: usize, event: &Event) -> Result<(), LogError> {
        match event {
            Event::Planned { .. } if self.plan.is_some() => return Err(LogError::SecondPlan),
            Event::Planned { plan } => {
                self.check_plan(plan)?;
                self.rows.resize_with(plan.runs.len(), RunRow::default);
                self.plan = Some(plan.clone());
            }
            Event::Prepared {
                lab,
                endpoints,
                shared_cpus,
                notes,
                rtt,
                ..
            } => {
                self.summary.place_notes.clone_from(notes);
                self.summary.lab.clone_from(lab);
                self.summary.idle_rtt_us = rtt.as_ref().and_then(|check| check.pings.figures());
                self.summary.ends.clone_from(endpoints);
                self.summary.shared_cpus = *shared_cpus;
                self.place = Some(PlaceFacts::new(*shared_cpus, endpoints, lab.as_deref()));
            }
            Event::Constants { machines } => self.summary.constants.clone_from(machines),
            Event::Decided { decision } => self.decided(decision),
            Event::RunBegan { run, at } => {
                self.first_run.take_if(|first| first.run == *run);
                let row = self.row(*run)?;
                *row = RunRow {
                    began_at: Some(at.clone()),
                    profiled: row.profiled.take(),
                    ..RunRow::default()
                };
            }
            Event::RunEnded {
                run,
                interrupted,
                sender,
                receiver,
                ..
            } => {
                let row = self.ended(*run, [sender, receiver], interrupted.as_deref())?;
                return self.end(*run, place, row);
            }
            Event::RunFailed { run, .. } => return self.end(*run, place, failed_row(event)),
            Event::RunImported { run, imported } => {
                self.summary.is_imported = true;
                return self.end(*run, place, imported_row(imported));
            }
            Event::RunProfiled {
                run,
                sender,
                receiver,
                ..
            } => return self.profile(*run, [sender, receiver]),
            Event::RunNotProfiled { run, reason } => {
                let reason = Unavailable(harmless(reason));
                self.row(*run)?.profiled = Some(Err(reason));
            }
            Event::ExecutionEnded { enough_blocks, .. } => {
                self.summary.is_ended = true;
                self.enough_blocks = *enough_blocks;
            }
            Event::ExecutionBegan { .. }
            | Event::Tried { .. }
            | Event::Resumed { .. }
            | Event::Progress { .. }
            | Event::Reconnecting { .. } => {}
        }
        Ok(())
    }

    /// Checks that the plan is the one that study and seed give. The plan of another version of
    /// bitcost may differ, as defaults do, which is a caveat.
    fn check_plan(&mut self, plan: &Plan) -> Result<(), LogError> {
        let study = &self.summary.study;
        if plan.lengths.is_none() || study.gives(plan) {
            return Ok(());
        }
        if self.summary.bitcost_version == env!("CARGO_PKG_VERSION") {
            return Err(LogError::OtherPlan);
        }
        self.summary.caveats.push(format!(
            "bitcost {} made its plan, and this version makes a different one from its study and seed",
            self.summary.bitcost_version
        ));
        Ok(())
    }

    /// Takes what trials decided; the last decision of a kind counts.
    fn decided(&mut self, decision: &Decision) {
        let read = match decision {
            Decision::Bottleneck(of) => Proof::deserialize(of).map(|of| self.proof = Some(of)),
            Decision::Changes(of) => Ladder::deserialize(of).map(|of| match of.cell {
                Some(_) => self.settle(of),
                None => self.ladder = Some(of),
            }),
        };
        if let Err(why) = read {
            let caveat = format!("what experiments decided cannot be read: {why}");
            self.summary.caveats.push(caveat);
        }
    }

    /// Gives a cell the options that its search took.
    fn settle(&mut self, ladder: Ladder) {
        if let Some(Err(why)) = self.plan.as_mut().map(|plan| ladder.settle(plan)) {
            let caveat = format!("an option that a search chose is unknown: {why}");
            self.summary.caveats.push(caveat);
        }
        self.searches.retain(|known| known.cell != ladder.cell);
        self.searches.push(ladder);
    }

    /// What is kept of a run of the plan.
    fn row(&mut self, run: u32) -> Result<&mut RunRow, LogError> {
        let plan = self.plan.as_ref().ok_or(LogError::NoPlan)?;
        let (runs, place) = (plan.runs.len(), plan.place_of(run));
        Ok(&mut self.rows[place.ok_or(LogError::UnknownRun { run, runs })?])
    }

    /// The row of a run with these records, of sender and receiver.
    fn ended(
        &mut self,
        run: u32,
        ends: [&EndpointRecord; 2],
        interrupted: Option<&str>,
    ) -> Result<RunRow, LogError> {
        let plan = self.plan.as_ref().ok_or(LogError::NoPlan)?;
        let (runs, order) = (plan.runs.len(), plan.place_of(run));
        let unknown = LogError::UnknownRun { run, runs };
        let (order, cell) = order.zip(plan.cell_of(run)).ok_or(unknown)?;
        let place = self.place.unwrap_or_default();
        let view = place.view(ends, &cell.conditions, interrupted);
        self.summary.is_placed &= self.place.is_some();
        let (is_kept, is_alone) = (order < MANY, plan.cells.len() == 1);
        let mut row = row_of(&view, is_kept);
        if is_alone {
            row.caveats = caveats_of(&view);
        }
        if plan.blocks == 1 && is_kept {
            let of = |name: &&'static str| Some((*name, single_run(&view, name)?));
            row.singles = WITH_INTERVAL.iter().filter_map(of).collect();
        }
        if runs > 1 && row.interrupted.is_some() {
            // It is made again where the execution is resumed.
            (row.status, row.reason) = (Status::LeftOut, row.interrupted.take());
        }
        if is_alone {
            let is_left_out = row.status == Status::LeftOut;
            let known = self.first_run.as_ref();
            if known.is_none_or(|known| !is_left_out && (known.is_left_out || known.run == run)) {
                self.first_run = Some(Rc::new(FirstRun::of(run, is_left_out, place, &view)));
            }
        }
        Ok(row)
    }

    /// Keeps the profiled twin of a run, from its records of sender and receiver.
    fn profile(&mut self, run: u32, ends: [&EndpointRecord; 2]) -> Result<(), LogError> {
        let (plan, facts, summary) = (self.plan.as_ref(), self.place, &self.summary);
        if let Some(cell) = plan.and_then(|plan| plan.cell_of(run)) {
            let view = facts.unwrap_or_default().view(ends, &cell.conditions, None);
            let direction = cell.conditions.direction;
            let place = |role| Place::of(role, direction, summary.shared_cpus, &summary.ends);
            let profiled = run_profile(&view, place).map(Rc::new);
            self.row(run)?.profiled = Some(profiled);
        }
        Ok(())
    }

    /// Keeps the outcome of a run, whose event has this place.
    fn end(&mut self, run: u32, place: usize, mut outcome: RunRow) -> Result<(), LogError> {
        if let Some(told) = &mut outcome.told {
            match self.told.get(told) {
                Some(known) => told.clone_from(known),
                None => drop(self.told.insert(told.clone())),
            }
        }
        let row = self.row(run)?;
        if row.event.is_some() {
            return Err(LogError::SecondResult { run });
        }
        *row = RunRow {
            event: Some(place),
            began_at: row.began_at.take(),
            profiled: row.profiled.take(),
            ..outcome
        };
        Ok(())
    }
}

/// The row of a run that failed or was stopped.
fn failed_row(event: &Event) -> RunRow {
    let Event::RunFailed { kind, reason, .. } = event else {
        return RunRow::default();
    };
    RunRow {
        status: match kind {
            FailureKind::Failed | FailureKind::HostLacks => Status::Failed,
            FailureKind::Lost => Status::Lost,
            FailureKind::Interrupted => Status::Interrupted,
        },
        reason: Some(harmless(reason)),
        host_lacks: *kind == FailureKind::HostLacks,
        ..RunRow::default()
    }
}

fn imported_row(run: &ImportedRun) -> RunRow {
    let notes = run.notes.iter().map(|note| harmless(note)).collect();
    RunRow {
        status: Status::Used,
        figures: Figures::of(|metric| run.figures.get(metric.name).copied()),
        widths_pct: run.widths_pct.clone(),
        level_pct: run.level_pct,
        told: Some(Rc::new(Told {
            notes,
            ..Told::default()
        })),
        ..RunRow::default()
    }
}
