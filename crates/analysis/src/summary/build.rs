//! From events to figures per cell: medians with intervals, improvements, and runs that were left
//! out, with the reason.

use bitcost_model::calibration::Calibration;
use bitcost_model::constants::MachineConstants;
use bitcost_model::event::EndpointDescription;
use bitcost_model::plan::{Plan, PlannedRun};
use bitcost_model::search::Search;
use bitcost_model::study::{Cell, LabSpec, Label};
use bitcost_study::Study;
use bitcost_study::check::Levels;
use schemars::JsonSchema;
use serde::Serialize;

use super::answered::{Answered, answered};
use super::improvement::{ImprovementSummary, improvements};
use super::precision::{Measured, Precision};
use crate::cells::{CellRuns, CellSummary, ExcludedRun, Places, RunRow, Runs, has, machine_caveat};
use crate::checks::{self, CheckSummary};
use crate::log::{Log, TimeSeries};

/// The caveat on a log without a description of its hosts.
const NOT_PLACED: &str = "the log does not describe the hosts (no `prepared` event before its runs): CPU time is attributed as \
    of two machines without threaded NAPI, so service demands may be wrong";

/// A note for the reader of the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Note {
    /// The name of the cell that it is about; absent if it is not about a single cell.
    pub cell: Option<String>,
    /// One sentence.
    #[serde(rename = "note")]
    pub text: String,
    /// The number of used runs for which it holds.
    pub runs: usize,
}

/// All data from the log.
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
    /// Local time of the start, with offset (RFC 3339).
    pub began_at: String,
    /// The command line.
    pub command_line: Vec<String>,
    /// The embedded lab; absent on real hosts.
    pub lab: Option<Box<LabSpec>>,
    /// Whether the runs are of other programs, read from their files.
    pub is_imported: bool,
    /// Whether the execution came to its end.
    pub is_ended: bool,
    /// Whether the hosts of every run with a result of our own were described before the run.
    pub is_placed: bool,
    /// The cells as they were planned.
    pub planned: Vec<Cell>,
    /// Caveats of the log itself, such as damage, a sentence each.
    pub caveats: Vec<String>,
    /// Whether both endpoints run on the same CPUs.
    pub shared_cpus: bool,
    /// Both endpoints; empty where the execution stopped before it found them.
    pub ends: Vec<EndpointDescription>,
    /// Every cell of the plan.
    pub cells: Vec<CellSummary>,
    /// The study's improvement at each combination of the other factors' levels.
    pub improvements: Vec<ImprovementSummary>,
    /// The figures of each of the study's sentences; absent where they are not all measured.
    pub answers: Vec<Option<Answered>>,
    /// What the runs say about the study's statements.
    pub checks: Vec<CheckSummary>,
    /// The time series of each cell's middle run, where the study's table asks for each second.
    pub time_series: Vec<TimeSeries>,
    /// Runs that are in no cell.
    pub excluded: Vec<ExcludedRun>,
    /// Requests on the place that are not in effect, in words.
    pub place_notes: Vec<String>,
    /// The constants of the hosts, measured before the first run; empty in older logs.
    pub constants: Vec<MachineConstants>,
    /// What the lab's path carried before the first run; absent on real hosts, and in older logs.
    pub calibration: Option<Box<Calibration>>,
    /// The searches for fast options, in the order of the cells.
    pub searches: Vec<Search>,
    /// Requests that are not in effect, and other notes on the runs.
    pub notes: Vec<Note>,
    /// The result of the study's stop rule; absent where it has none.
    pub precision: Option<Precision>,
    /// Planned runs without a result that did not fail: not begun, aborted or interrupted.
    pub incomplete: Vec<u32>,
    /// Every planned run, in order.
    pub runs: Vec<RunRow>,
    places: Places,
}

impl Summary {
    /// The figures of the runs. If a run was tried more than once, the last outcome counts.
    pub(crate) fn of(mut log: Log, plan: Plan) -> Summary {
        let planned = match plan.is_open_ended() {
            true => begun_blocks(&plan, &log),
            false => plan.blocks,
        };
        let blocks = log.enough_blocks.unwrap_or(planned);
        let runs = Runs::sort(&plan, &mut log, blocks);
        let caveat = machine_caveat(&runs.rows, plan.cells.len());
        log.caveats.extend(caveat);
        let cells = summaries(&log.study, &plan, &runs.cells);
        let places = Places::of(&cells);
        let improvements = improvements(&log.study, &cells, &places, &runs.cells, plan.seed);
        let levels = levels(&plan, &runs.cells);
        let checks = checks::checks(&log.study.checks, &levels, plan.seed);
        let answers = answered(&log.study.sentences, &levels, plan.seed);
        let measured = Measured {
            study: &log.study,
            plan: &plan,
            cells: &runs.cells,
            blocks: if log.is_ended {
                blocks
            } else {
                most_runs(&runs.cells)
            },
            is_ended: log.is_ended,
        };
        let mut summary = Summary {
            seed: plan.seed,
            blocks,
            time_series: time_series(&log.study, &runs.cells),
            precision: Precision::of(&measured),
            answers,
            checks,
            study: log.study,
            bitcost_version: log.bitcost_version,
            began_at: log.began_at,
            command_line: log.command_line,
            lab: log.lab,
            is_imported: log.is_imported,
            is_ended: log.is_ended,
            is_placed: log.is_placed,
            planned: plan.cells,
            caveats: log.caveats,
            shared_cpus: log.shared_cpus,
            ends: log.ends,
            cells,
            improvements,
            excluded: runs.excluded,
            place_notes: log.place_notes,
            constants: log.constants,
            calibration: log.calibration,
            searches: log.searches,
            notes: runs.notes.0.into_iter().map(note).collect(),
            incomplete: runs.incomplete,
            runs: runs.rows,
            places,
        };
        if !summary.is_placed {
            summary.caveats.push(NOT_PLACED.to_owned());
        }
        summary
    }

    /// The first cell that has these levels.
    pub fn cell(&self, levels: &[(String, Label)]) -> Option<&CellSummary> {
        self.places.find(&self.cells, levels)
    }

    /// The first improvement that has these levels of the other factors.
    pub fn improvement(&self, levels: &[(String, Label)]) -> Option<&ImprovementSummary> {
        self.improvements
            .iter()
            .find(|improvement| has(&improvement.levels, levels))
    }
}

fn summaries(study: &Study, plan: &Plan, runs: &[CellRuns]) -> Vec<CellSummary> {
    let summary = |(cell, runs): (&Cell, &CellRuns)| CellSummary {
        expected: expected(study, &cell.levels),
        ..runs.summary(cell, study.mesh.is_some(), plan.seed)
    };
    plan.cells.iter().zip(runs).map(summary).collect()
}

fn levels<'a>(plan: &'a Plan, runs: &'a [CellRuns]) -> Vec<(&'a Levels, &'a CellRuns)> {
    let levels = plan.cells.iter().map(|cell| &cell.levels);
    levels.zip(runs).collect()
}

/// Blocks of which a run has an outcome.
fn begun_blocks(plan: &Plan, log: &Log) -> u32 {
    let has_outcome = |run: &&PlannedRun| log.outcomes.contains_key(&run.index);
    let last = plan.runs.iter().rfind(has_outcome);
    last.map_or(0, |run| run.block + 1)
}

fn most_runs(cells: &[CellRuns]) -> u32 {
    let most = cells.iter().map(CellRuns::count).max();
    most.map_or(0, |most| most as u32)
}

fn time_series(study: &Study, runs: &[CellRuns]) -> Vec<TimeSeries> {
    if study.table.each_second {
        runs.iter().filter_map(CellRuns::middle).collect()
    } else {
        Vec::new()
    }
}

fn note(((cell, text), runs): ((Option<String>, String), usize)) -> Note {
    Note { cell, text, runs }
}

/// The author's figures for a cell.
fn expected(study: &Study, levels: &[(String, Label)]) -> Vec<(String, f64)> {
    let cells = study.expect.iter().flat_map(|expect| &expect.cells);
    cells
        .filter(|cell| has(levels, &cell.levels))
        .flat_map(|cell| cell.figures.clone())
        .collect()
}
