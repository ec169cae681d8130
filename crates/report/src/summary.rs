//! From events to figures per cell: medians with intervals, improvements, and what was left out and why.

use std::collections::HashMap;

use metrics::Method;
use model::calibration::Calibration;
use model::event::{EndDescription, Event};
use model::plan::Plan;
use model::study::{Cell, LabSpec, Label, Study, StudyError, phrase};
use stats::{Interval, Spread};

use crate::checks::{self, CheckSummary};
use crate::course::Course;
use crate::improvement::{ImprovementSummary, improvements};
use crate::log::{Log, Reader};
use crate::precision::Precision;
use crate::rows::RunRow;
use crate::sorted::{CellRuns, Runs};
use crate::why::Why;

/// Name of the receive service demand by bytes received.
pub const RECEIVE_DEMAND: &str = "receive_service_demand_us_per_kib";

/// Name of the receive service demand by bytes sent, as netperf divides.
pub const RECEIVE_DEMAND_BY_SENT: &str = "receive_service_demand_per_kib_sent_us";

/// Said of a log without a description of its hosts.
const NOT_PLACED: &str = "the log does not describe the hosts (no `prepared` event before its runs): CPU time is attributed as \
    of two machines without threaded NAPI, so service demands may be wrong";

/// Why a log cannot be reported on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// The first line is missing.
    #[error("the log does not say which study it is of (no `execution_began` event); was its begin cut off?")]
    NoStudy,
    /// The plan is missing.
    #[error("the log holds no plan (no `planned` event): the execution stopped before its first run")]
    NoPlan,
    /// There are two plans.
    #[error(
        "the log holds a second plan (`planned` event): it cannot be told which one its runs followed; remove the lines that do not belong to it"
    )]
    SecondPlan,
    /// The plan is another one than study and seed give.
    #[error("the plan in the log is not the one that its study and seed give: {0}; the log was changed")]
    OtherPlan(String),
    /// A run that is not planned has a result.
    #[error("the log holds a result of run {}, and its plan has {runs} runs: lines of another execution are among its own", run + 1)]
    UnknownRun {
        /// The run, from 0.
        run: u32,
        /// Planned runs.
        runs: usize,
    },
    /// A run has two results and was begun once.
    #[error("the log holds two results of run {}, which began once: lines were doubled or renumbered", run + 1)]
    SecondResult {
        /// The run, from 0.
        run: u32,
    },
    /// The study in the log cannot be read.
    #[error("the study in the log cannot be read: {0}")]
    Study(#[from] StudyError),
}

/// The figures of one cell.
#[derive(Clone, Debug)]
pub struct CellSummary {
    /// Factor and level.
    pub levels: Vec<(String, Label)>,
    /// Number of runs that the figures come from.
    pub runs: usize,
    /// Metric name, median over runs and its interval; metrics without values are absent.
    pub figures: Vec<(&'static str, Interval)>,
    /// Metric name, and how its values over runs lie; those of `figures`.
    pub spreads: Vec<(&'static str, Spread)>,
    /// Metric name and value as the question's author printed it.
    pub expected: Vec<(String, f64)>,
    /// How the ends' CPU time was told apart, and in how many runs.
    pub methods: Vec<(Method, usize)>,
    /// Why it was not, and in how many runs.
    pub unattributed: Vec<(String, usize)>,
    /// Runs during which something else used the CPUs.
    pub disturbed: usize,
    /// Runs whose delay line was late, or dropped what it should have carried.
    pub line_troubled: usize,
}

impl CellSummary {
    /// The figure of a metric.
    pub fn figure(&self, name: &str) -> Option<&Interval> {
        self.figures.iter().find(|(known, _)| *known == name).map(|(_, interval)| interval)
    }

    /// How the values of a metric lie.
    pub fn spread(&self, name: &str) -> Option<&Spread> {
        self.spreads.iter().find(|(known, _)| *known == name).map(|(_, spread)| spread)
    }

    /// The author's figure of a metric.
    pub fn expected(&self, name: &str) -> Option<f64> {
        self.expected.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The levels in one short phrase: `1024 · UDP`.
    pub fn name(&self) -> String {
        phrase(&self.levels)
    }
}

/// A run that has no place in the cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcludedRun {
    /// Its place in the order, from 0.
    pub run: u32,
    /// Its block, from 0.
    pub block: u32,
    /// Its cell.
    pub levels: Vec<(String, Label)>,
    /// Why.
    pub reason: String,
}

/// Something that a reader of the figures must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The cell that it is about, by its name; absent: not of one cell alone.
    pub cell: Option<String>,
    /// One sentence.
    pub text: String,
    /// How many of the used runs it is true of.
    pub runs: usize,
}

/// All that the log tells.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The study, read again from the log.
    pub study: Study,
    /// Seed of the order of runs.
    pub seed: u64,
    /// Planned blocks.
    pub blocks: u32,
    /// Version of bitcost that wrote the log.
    pub bitcost_version: String,
    /// Local time of the begin, with offset (RFC 3339).
    pub began_at: String,
    /// The command line.
    pub command_line: Vec<String>,
    /// The embedded lab; absent on real hosts.
    pub lab: Option<Box<LabSpec>>,
    /// The rate of the link between the ends, in bit/s, where it is known: that of the lab's narrowest, or what a report is
    /// told.
    pub link_rate_bps: Option<u64>,
    /// Whether the runs are other programs', read from their files.
    pub is_imported: bool,
    /// Whether the execution came to its end.
    pub is_ended: bool,
    /// Whether every run with a result of our own had its hosts described before.
    pub(crate) is_placed: bool,
    /// The cells as they were planned.
    pub planned: Vec<Cell>,
    /// What must be known of the log itself, such as damage, a sentence each.
    pub caveats: Vec<String>,
    /// Whether both ends run on the same CPUs.
    pub shared_cpus: bool,
    /// Both ends; empty where the execution stopped before it found them.
    pub ends: Vec<EndDescription>,
    /// Every cell of the plan.
    pub cells: Vec<CellSummary>,
    /// The study's improvement at each combination of the other factors' levels.
    pub improvements: Vec<ImprovementSummary>,
    /// What the runs say to the study's statements.
    pub checks: Vec<CheckSummary>,
    /// The course of each cell's middle run, where the study's table asks for each second.
    pub courses: Vec<Course>,
    /// Why the level that improves, or worsens, does: where cells set the limit of a queue that delays.
    pub why: Why,
    /// Runs that have no place in the cells.
    pub excluded: Vec<ExcludedRun>,
    /// What was asked of the place and is not so, in words.
    pub place_notes: Vec<String>,
    /// What the lab's path carried before the first run; absent on real hosts, and in older logs.
    pub calibration: Option<Box<Calibration>>,
    /// What was asked for but not in force.
    pub notes: Vec<Note>,
    /// What came of the study's stop rule; absent where it has none.
    pub precision: Option<Precision>,
    /// Planned runs without a result that did not fail: not begun, broken off or interrupted.
    pub incomplete: Vec<u32>,
    /// Every planned run by itself, in order.
    pub runs: Vec<RunRow>,
    /// Where each cell is, by its levels in the order of their factors' names.
    pub(crate) places: HashMap<Vec<(String, Label)>, usize>,
}

impl Summary {
    /// Reads a log. Of a run that was tried again the last outcome counts.
    ///
    /// # Errors
    /// As [`Reader::summary`].
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Summary, ReportError> {
        let mut reader = Reader::default();
        events.into_iter().enumerate().for_each(|(place, event)| reader.take(place, event));
        reader.summary()
    }

    /// What the runs that were read give.
    pub(crate) fn of(mut log: Log, plan: Plan) -> Summary {
        let blocks = log.enough_blocks.unwrap_or(plan.blocks);
        let runs = Runs::sort(&plan, &mut log, blocks);
        let mut summary = log.summary;
        (summary.seed, summary.blocks) = (plan.seed, blocks);
        summary.runs = runs.rows;
        summary.cells = plan.cells.iter().zip(&runs.cells).map(|(cell, runs)| runs.summary(cell, plan.seed)).collect();
        for cell in &mut summary.cells {
            cell.expected = expected(&summary.study, &cell.levels);
        }
        summary.places =
            summary.cells.iter().enumerate().rev().map(|(place, cell)| (sorted(&cell.levels), place)).collect();
        summary.improvements = improvements(&summary, &runs.cells);
        let limit = |cell: &Cell| (cell.name(), cell.conditions.emulator_queue_limit);
        summary.why = Why::of(&summary, &plan.cells.iter().map(limit).collect::<Vec<_>>());
        if summary.study.table.each_second {
            summary.courses = runs.cells.iter().filter_map(CellRuns::middle).collect();
        }
        if let Some(rule) = &summary.study.until {
            let cells: Vec<_> = plan.cells.iter().map(Cell::name).zip(&runs.cells).collect();
            summary.precision = Some(Precision::of(rule, &cells, plan.seed));
        }
        let cells: Vec<_> = plan.cells.iter().map(|cell| &cell.levels).zip(&runs.cells).collect();
        summary.checks = checks::checks(&summary.study.checks, &cells, plan.seed);
        summary.excluded = runs.excluded;
        summary.notes = runs.notes.0.into_iter().map(|((cell, text), runs)| Note { cell, text, runs }).collect();
        summary.incomplete = runs.incomplete;
        if !summary.is_placed {
            summary.caveats.push(NOT_PLACED.to_owned());
        }
        summary.planned = plan.cells;
        summary
    }

    /// The first cell that has these levels.
    pub fn cell(&self, levels: &[(String, Label)]) -> Option<&CellSummary> {
        let whole = self.places.get(&sorted(levels)).and_then(|place| self.cells.get(*place));
        let is_whole = self.cells.first().is_some_and(|first| first.levels.len() == levels.len());
        if is_whole { whole } else { self.cells.iter().find(|cell| has(&cell.levels, levels)) }
    }

    /// The first improvement that has these levels of the other factors.
    pub fn improvement(&self, levels: &[(String, Label)]) -> Option<&ImprovementSummary> {
        self.improvements.iter().find(|improvement| has(&improvement.levels, levels))
    }
}

fn sorted(levels: &[(String, Label)]) -> Vec<(String, Label)> {
    let mut sorted = levels.to_vec();
    sorted.sort();
    sorted
}

/// Whether all of these levels are among those.
pub(crate) fn has(levels: &[(String, Label)], wanted: &[(String, Label)]) -> bool {
    wanted.iter().all(|level| levels.contains(level))
}

/// The author's figures for a cell.
fn expected(study: &Study, levels: &[(String, Label)]) -> Vec<(String, f64)> {
    let cells = study.expect.iter().flat_map(|expect| &expect.cells);
    cells.filter(|cell| has(levels, &cell.levels)).flat_map(|cell| cell.figures.clone()).collect()
}
