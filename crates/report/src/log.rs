//! The events of a log, each where it belongs, before anything is counted.

use std::collections::{BTreeMap, HashMap};

use metrics::RunView;
use model::conditions::Conditions;
use model::event::{Event, FailureKind};
use model::imported::ImportedRun;
use model::plan::{Plan, PlannedRun};
use model::record::{EndRecord, Role};
use model::study::{Cell, Study};

use crate::summary::{ReportError, Summary};
use crate::why::Why;

/// What the formulas must know of the place of a run.
#[derive(Clone, Copy, Default)]
pub(crate) struct PlaceFacts {
    shared_cpus: bool,
    napi_threaded: bool,
}

impl PlaceFacts {
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
pub(crate) enum Outcome<'a> {
    Ended {
        sender: &'a EndRecord,
        receiver: &'a EndRecord,
        place: PlaceFacts,
    },
    Failed(FailureKind, &'a str),
    /// Another program's figures.
    Imported(&'a ImportedRun),
}

/// The log's events, each where it belongs.
pub(crate) struct Log<'a> {
    pub summary: Summary,
    pub plan: Option<&'a Plan>,
    pub outcomes: BTreeMap<u32, Outcome<'a>>,
    /// When each run began.
    pub began: BTreeMap<u32, &'a str>,
    /// Blocks after which the stop rule was kept.
    pub enough_blocks: Option<u32>,
}

impl<'a> Log<'a> {
    pub fn read(events: impl IntoIterator<Item = &'a Event>) -> Result<Log<'a>, ReportError> {
        let mut events = events.into_iter();
        let first = events.find(|event| matches!(event, Event::ExecutionBegan { .. })).ok_or(ReportError::NoStudy)?;
        let (outcomes, began) = (BTreeMap::new(), BTreeMap::new());
        let mut log = Log { summary: begun(first)?, plan: None, outcomes, began, enough_blocks: None };
        let mut place = PlaceFacts::default();
        for event in events {
            match event {
                Event::Planned { plan } => log.plan = Some(plan),
                Event::Prepared { lab, ends, shared_cpus, notes, .. } => {
                    log.summary.place_notes.clone_from(notes);
                    log.summary.lab.clone_from(lab);
                    let path = lab.as_ref().and_then(|lab| lab.path());
                    log.summary.link_rate_bps = path.and_then(|path| path.rate_bps());
                    log.summary.ends.clone_from(ends);
                    log.summary.shared_cpus = *shared_cpus;
                    let receiver = ends.iter().find(|end| end.role == Role::Receiver);
                    let napi_threaded = receiver.and_then(|end| end.host.device.napi_threaded) == Some(true);
                    place = PlaceFacts { shared_cpus: *shared_cpus, napi_threaded };
                }
                Event::Calibrated { calibration } => log.summary.calibration = Some(calibration.clone()),
                Event::RunEnded { run, sender, receiver, .. } => {
                    log.outcomes.insert(*run, Outcome::Ended { sender, receiver, place });
                }
                Event::RunFailed { run, kind, reason } => {
                    log.outcomes.insert(*run, Outcome::Failed(*kind, reason));
                }
                Event::RunImported { run, imported } => {
                    log.summary.is_imported = true;
                    log.outcomes.insert(*run, Outcome::Imported(imported));
                }
                Event::RunBegan { run, at } => {
                    log.outcomes.remove(run);
                    log.began.insert(*run, at);
                }
                Event::ExecutionEnded { enough_blocks, .. } => log.enough_blocks = *enough_blocks,
                Event::ExecutionBegan { .. }
                | Event::Resumed { .. }
                | Event::Progress { .. }
                | Event::Reconnecting { .. } => {}
            }
        }
        Ok(log)
    }

    /// What the path carried in calibration with a cell's setting of it, in Mbit/s.
    pub fn ceiling_mbps(&self, cell: usize) -> Option<f64> {
        self.summary.calibration.as_ref()?.of_cell(cell)?.mbps()
    }
}

/// Every run that has a result of our own, with its cell, in the order of the plan.
///
/// # Errors
/// When the log does not hold a study and a plan.
pub fn run_views(events: &[Event]) -> Result<Vec<(PlannedRun, &Cell, RunView<'_>)>, ReportError> {
    let log = Log::read(events)?;
    let plan = log.plan.ok_or(ReportError::NoPlan)?;
    let view = |planned: &PlannedRun| {
        let cell = plan.cells.get(planned.cell)?;
        match log.outcomes.get(&planned.index)? {
            Outcome::Ended { sender, receiver, place } => {
                let ceiling = log.ceiling_mbps(planned.cell);
                Some((*planned, cell, place.view([sender, receiver], &cell.conditions, ceiling)))
            }
            _ => None,
        }
    };
    Ok(plan.runs.iter().filter_map(view).collect())
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
