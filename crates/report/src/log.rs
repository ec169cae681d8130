//! The events of a log, taken one after the other: of each run is kept what tables need, and its records go.

use std::collections::{BTreeMap, HashMap};

use metrics::RunView;
use model::conditions::Conditions;
use model::event::{EndDescription, Event, FailureKind};
use model::imported::ImportedRun;
use model::plan::Plan;
use model::record::{EndRecord, Role};
use model::study::{Study, UntilInterval};

use crate::precision::Precision;
use crate::reduced::{Imported, Reduced};
use crate::summary::{ReportError, Summary};
use crate::why::Why;

/// What the formulas must know of the place of a run.
#[derive(Clone, Copy, Default)]
pub(crate) struct PlaceFacts {
    shared_cpus: bool,
    napi_threaded: bool,
}

impl PlaceFacts {
    /// Those of a place with these ends.
    pub fn new(shared_cpus: bool, ends: &[EndDescription]) -> PlaceFacts {
        let receiver = ends.iter().find(|end| end.role == Role::Receiver);
        let napi_threaded = receiver.and_then(|end| end.host.device.napi_threaded) == Some(true);
        PlaceFacts { shared_cpus, napi_threaded }
    }

    /// A run of a cell as its formulas see it.
    pub fn view<'a>(
        self,
        ends: [&'a EndRecord; 2],
        conditions: &'a Conditions,
        ceiling_mbps: Option<f64>,
    ) -> RunView<'a> {
        let (PlaceFacts { shared_cpus, napi_threaded }, [sender, receiver]) = (self, ends);
        RunView { sender, receiver, conditions, shared_cpus, napi_threaded, ceiling_mbps }
    }
}

/// How a run ended.
pub(crate) enum Outcome {
    Ended(Box<Reduced>),
    Failed(FailureKind, String),
    /// Another program's figures.
    Imported(Imported),
}

/// What the log tells of an execution, before anything is counted.
pub(crate) struct Log {
    pub summary: Summary,
    pub plan: Option<Plan>,
    /// The last outcome of each run, with the place of its event.
    pub outcomes: BTreeMap<u32, (usize, Outcome)>,
    /// When each run began.
    pub began: BTreeMap<u32, String>,
    /// Blocks after which the stop rule was kept.
    pub enough_blocks: Option<u32>,
}

/// Takes the events of an execution one after the other, and tells then what they say.
#[derive(Default)]
pub struct Reader {
    log: Option<Log>,
    place: Option<PlaceFacts>,
    error: Option<ReportError>,
}

impl Reader {
    /// Takes the next event, with its place among them ([`model::event::Events::each`]).
    pub fn take(&mut self, place: usize, event: &Event) {
        if self.error.is_some() {
            return;
        }
        let taken = match (&mut self.log, event) {
            (None, Event::ExecutionBegan { .. }) => begun(event).map(|summary| self.log = Some(Log::new(summary))),
            (None, _) => Ok(()),
            (Some(log), event) => log.take(place, event, &mut self.place),
        };
        self.error = taken.err();
    }

    fn log(self) -> Result<(Log, Plan), ReportError> {
        let mut log = self.error.map_or(Ok(self.log), Err)?.ok_or(ReportError::NoStudy)?;
        let plan = log.plan.take().ok_or(ReportError::NoPlan)?;
        Ok((log, plan))
    }

    /// What all the events tell.
    ///
    /// # Errors
    /// When they do not hold a study and one plan, or contradict each other.
    pub fn summary(self) -> Result<Summary, ReportError> {
        self.log().map(|(log, plan)| Summary::of(log, plan))
    }

    /// Whether the events that were taken belong together.
    ///
    /// # Errors
    /// As [`Reader::summary`].
    pub fn check(self) -> Result<(), ReportError> {
        self.log().map(drop)
    }

    /// The precision that the execution has reached so far.
    ///
    /// # Errors
    /// As [`Reader::summary`].
    pub fn precision(self, rule: &UntilInterval) -> Result<Precision, ReportError> {
        self.log().map(|(log, plan)| Precision::of_log(rule, log, &plan))
    }
}

impl Log {
    fn new(summary: Summary) -> Log {
        Log { summary, plan: None, outcomes: BTreeMap::new(), began: BTreeMap::new(), enough_blocks: None }
    }

    fn take(&mut self, place: usize, event: &Event, facts: &mut Option<PlaceFacts>) -> Result<(), ReportError> {
        match event {
            Event::Planned { .. } if self.plan.is_some() => return Err(ReportError::SecondPlan),
            Event::Planned { plan } => {
                self.check_plan(plan)?;
                self.plan = Some(plan.clone());
            }
            Event::Prepared { lab, ends, shared_cpus, notes, .. } => {
                self.summary.place_notes.clone_from(notes);
                self.summary.lab.clone_from(lab);
                let path = lab.as_ref().and_then(|lab| lab.path());
                self.summary.link_rate_bps = path.and_then(|path| path.rate_bps());
                self.summary.ends.clone_from(ends);
                self.summary.shared_cpus = *shared_cpus;
                *facts = Some(PlaceFacts::new(*shared_cpus, ends));
            }
            Event::Calibrated { calibration } => self.summary.calibration = Some(calibration.clone()),
            Event::RunEnded { run, sender, receiver, .. } => {
                let outcome = self.reduced(*run, [sender, receiver], *facts)?;
                return self.end(*run, place, Outcome::Ended(Box::new(outcome)));
            }
            Event::RunFailed { run, kind, reason } => {
                return self.end(*run, place, Outcome::Failed(*kind, reason.clone()));
            }
            Event::RunImported { run, imported } => {
                self.summary.is_imported = true;
                let ImportedRun { figures, notes, .. } = &**imported;
                return self.end(*run, place, Outcome::Imported(Imported::of(figures, notes)));
            }
            Event::RunBegan { run, at } => {
                self.outcomes.remove(run);
                self.began.insert(*run, at.clone());
            }
            Event::ExecutionEnded { enough_blocks, .. } => {
                self.summary.is_ended = true;
                self.enough_blocks = *enough_blocks;
            }
            Event::ExecutionBegan { .. }
            | Event::Resumed { .. }
            | Event::Progress { .. }
            | Event::Reconnecting { .. } => {}
        }
        Ok(())
    }

    /// The plan is the one that study and seed give. Another version of bitcost may give another one.
    fn check_plan(&mut self, plan: &Plan) -> Result<(), ReportError> {
        let difference = plan.lengths.and_then(|_| plan.difference(&self.summary.study));
        let Some(what) = difference else { return Ok(()) };
        if self.summary.bitcost_version == env!("CARGO_PKG_VERSION") {
            return Err(ReportError::OtherPlan(what));
        }
        self.summary.caveats.push(format!(
            "bitcost {} made the plan in the log, and this version makes another one of its study and seed: {what}",
            self.summary.bitcost_version
        ));
        Ok(())
    }

    /// What is kept of a run's records.
    fn reduced(&mut self, run: u32, ends: [&EndRecord; 2], place: Option<PlaceFacts>) -> Result<Reduced, ReportError> {
        let plan = self.plan.as_ref().ok_or(ReportError::NoPlan)?;
        let planned = plan.runs.get(run as usize).filter(|planned| planned.index == run);
        let planned = planned.or_else(|| plan.runs.iter().find(|planned| planned.index == run));
        let cell = planned.and_then(|planned| Some((planned.cell, plan.cells.get(planned.cell)?)));
        let (index, cell) = cell.ok_or(ReportError::UnknownRun { run, runs: plan.runs.len() })?;
        let ceiling = self.summary.calibration.as_ref().and_then(|found| found.of_cell(index)?.mbps());
        let view = place.unwrap_or_default().view(ends, &cell.conditions, ceiling);
        let each_second = self.summary.study.table.each_second;
        self.summary.is_placed &= place.is_some();
        Ok(Reduced::of(run, &cell.levels, &view, each_second))
    }

    fn end(&mut self, run: u32, place: usize, outcome: Outcome) -> Result<(), ReportError> {
        match self.outcomes.insert(run, (place, outcome)) {
            Some(_) => Err(ReportError::SecondResult { run }),
            None => Ok(()),
        }
    }
}

fn begun(first: &Event) -> Result<Summary, ReportError> {
    let Event::ExecutionBegan { bitcost_version, at, command_line, study, study_text, .. } = first else {
        return Err(ReportError::NoStudy);
    };
    let mut study_read = Study::parse(&format!("{study}.toml"), study_text)?;
    study_read.name.clone_from(study);
    Ok(Summary {
        study: study_read,
        seed: 0,
        blocks: 0,
        bitcost_version: bitcost_version.clone(),
        began_at: at.clone(),
        command_line: command_line.clone(),
        lab: None,
        link_rate_bps: None,
        is_imported: false,
        is_ended: false,
        is_placed: true,
        planned: Vec::new(),
        caveats: Vec::new(),
        shared_cpus: false,
        ends: Vec::new(),
        cells: Vec::new(),
        places: HashMap::new(),
        improvements: Vec::new(),
        checks: Vec::new(),
        courses: Vec::new(),
        why: Why::default(),
        excluded: Vec::new(),
        place_notes: Vec::new(),
        calibration: None,
        notes: Vec::new(),
        precision: None,
        incomplete: Vec::new(),
        runs: Vec::new(),
    })
}
