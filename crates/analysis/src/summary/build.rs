//! From events to figures per cell: medians with intervals, improvements, and runs that were left
//! out, with the reason.

use bitcost_model::plan::{Plan, PlannedRun};
use bitcost_study::Study;
use bitcost_study::check::Levels;

use super::answered::answered;
use super::improvement::improvements;
use super::known::Summary;
use super::precision::{Measured, Precision};
use crate::cells::{CellRuns, CellSummary, Places, has, machine_caveat, sorted};
use crate::checks;
use crate::log::{Log, LogError, Reader};

const NOT_PLACED: &str = "the log does not describe the hosts (no `prepared` event before its runs): CPU time is attributed as \
    of two machines without threaded NAPI, so service demands may be wrong";

/// The figures of the runs. If a run was tried more than once, the last outcome counts.
pub(crate) fn complete(mut log: Log, plan: Plan) -> Summary {
    let planned = match plan.is_open_ended() {
        true => begun_blocks(&plan, &log),
        false => plan.blocks,
    };
    let blocks = log.enough_blocks.unwrap_or(planned);
    let cells = sorted(&plan, &mut log, blocks);
    let mut summary = log.summary;
    (summary.seed, summary.blocks) = (plan.seed, blocks);
    let caveat = machine_caveat(&summary.runs, cells.len());
    summary.caveats.extend(caveat);
    if !summary.is_placed {
        summary.caveats.push(NOT_PLACED.to_owned());
    }
    let study = &summary.study;
    let of_cell = |runs: &CellRuns| CellSummary {
        expected: expected(study, runs.levels()),
        ..runs.summary(study.mesh.is_some(), plan.seed)
    };
    summary.cells = cells.iter().map(of_cell).collect();
    summary.places = Places::of(&summary.cells);
    let places = &summary.places;
    summary.improvements = improvements(study, &summary.cells, places, &cells, plan.seed);
    summary.checks = checks::checks(&study.checks, &cells, plan.seed);
    summary.answers = answered(&study.sentences, &cells, plan.seed);
    if study.table.each_second {
        summary.time_series = cells.iter().filter_map(CellRuns::middle).collect();
    }
    let most = cells.iter().map(CellRuns::count).max().unwrap_or(0) as u32;
    summary.precision = Precision::of(&Measured {
        study,
        plan: &plan,
        cells: &cells,
        blocks: if summary.is_ended { blocks } else { most },
        is_ended: summary.is_ended,
    });
    summary.planned = plan.cells;
    summary
}

/// The precision of the runs that a reader took, after this number of blocks; absent where the
/// study has no stop rule.
///
/// # Errors
/// As [`Reader::finish`].
pub fn precision_after(blocks: u32, reader: Reader) -> Result<Option<Precision>, LogError> {
    let (mut log, plan) = reader.finish()?;
    let cells = sorted(&plan, &mut log, blocks);
    Ok(Precision::of(&Measured {
        study: &log.summary.study,
        plan: &plan,
        cells: &cells,
        blocks,
        is_ended: false,
    }))
}

/// Blocks of which a run has an outcome.
fn begun_blocks(plan: &Plan, log: &Log) -> u32 {
    let has_outcome = |run: &&PlannedRun| log.outcomes.contains_key(&run.index);
    let last = plan.runs.iter().rfind(has_outcome);
    last.map_or(0, |run| run.block + 1)
}

fn expected(study: &Study, levels: &Levels) -> Vec<(String, f64)> {
    let cells = study.expect.iter().flat_map(|expect| &expect.cells);
    cells
        .filter(|cell| has(levels, &cell.levels))
        .flat_map(|cell| cell.figures.clone())
        .collect()
}
