//! From events to figures per cell: medians with intervals, improvements, and runs that were left
//! out, with the reason.

use bitcost_model::plan::Plan;

use super::answered::answered;
use super::improvement::improvements;
use super::known::Summary;
use super::precision::{Measured, Precision};
use crate::cells::{CellRuns, ExcludedRun, Places, RunRow, Status, machine_caveat};
use crate::checks;
use crate::log::{Log, LogError, Reader};

const NOT_PLACED: &str = "the log does not describe the hosts (no `prepared` event before its runs): CPU time is attributed as \
    of two machines without threaded NAPI, so service demands may be wrong";

/// The figures of the runs. If a run was tried more than once, the last outcome counts.
pub(crate) fn complete(mut log: Log, plan: Plan) -> Summary {
    let blocks = log.enough_blocks.unwrap_or(plan.blocks);
    place_rows(&plan, &mut log, blocks);
    let mut summary = log.summary;
    let rows = std::mem::take(&mut summary.runs);
    let cells = CellRuns::all(&plan.cells, &rows);
    summary.caveats.extend(machine_caveat(&cells));
    if !summary.is_placed {
        summary.caveats.push(NOT_PLACED.to_owned());
    }
    (summary.seed, summary.blocks) = (plan.seed, blocks);
    let study = &summary.study;
    let of_cell = |runs: &CellRuns| runs.summary(study, plan.seed);
    summary.cells = cells.iter().map(of_cell).collect();
    summary.places = Places::of(&summary.cells);
    let places = &summary.places;
    summary.improvements = improvements(study, &summary.cells, places, &cells, plan.seed);
    summary.checks = checks::checks(&study.checks, &cells, plan.seed);
    let answered = |sentence| answered(sentence, &cells, plan.seed);
    summary.answers = study.sentences.iter().map(answered).collect();
    let most = cells.iter().map(CellRuns::count).max().unwrap_or(0) as u32;
    summary.precision = Precision::of(&Measured {
        study,
        seed: plan.seed,
        cells: &cells,
        blocks: if summary.is_ended { blocks } else { most },
    });
    summary.runs = rows;
    summary.planned = plan.cells;
    summary
}

/// The precision of the runs that a reader took, after this number of blocks; absent where the
/// study has no stop rule.
pub fn precision_after(blocks: u32, reader: Reader) -> Result<Option<Precision>, LogError> {
    let (mut log, plan) = reader.finish()?;
    place_rows(&plan, &mut log, blocks);
    Ok(Precision::of(&Measured {
        study: &log.summary.study,
        seed: plan.seed,
        cells: &CellRuns::all(&plan.cells, &log.summary.runs),
        blocks,
    }))
}

/// Puts the row of each planned run, with what is said of it, into the log's summary. `blocks` is the number of blocks to be
/// run: the stop rule may have been met before the plan's end.
fn place_rows(plan: &Plan, log: &mut Log, blocks: u32) {
    for planned in &plan.runs {
        let Some(cell) = plan.cells.get(planned.cell) else {
            continue;
        };
        let row = log.rows.remove(&planned.index).unwrap_or_default();
        let summary = &mut log.summary;
        match row.status {
            Status::Missing if planned.block >= blocks => continue,
            Status::Missing | Status::Interrupted => summary.incomplete.push(planned.index),
            _ => {}
        }
        let mut row = RunRow {
            run: planned.index,
            block: planned.block,
            cell: planned.cell,
            ..row
        };
        let [notes, cell_notes] = std::mem::take(&mut row.notes);
        let reason = row.reason.clone();
        let reason = match row.status {
            Status::Used => {
                let of_run = row.not_in_effect.iter().cloned().chain(notes);
                of_run.for_each(|note| summary.note(None, note));
                let of_cell = cell_notes.into_iter();
                of_cell.for_each(|note| summary.note(Some(cell.name()), note));
                None
            }
            Status::LeftOut | Status::Missing => reason,
            status => reason.map(|reason| format!("{}: {reason}", status.name())),
        };
        summary.excluded.extend(reason.map(|reason| ExcludedRun {
            run: row.run,
            block: row.block,
            levels: cell.levels.clone(),
            reason,
        }));
        summary.runs.push(row);
    }
}
