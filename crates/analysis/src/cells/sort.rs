//! The runs of a plan, each in its cell or among the excluded ones.

use bitcost_model::event::FailureKind;
use bitcost_model::harmless;
use bitcost_model::plan::Plan;

use super::row::{ExcludedRun, RunRow, Status};
use super::runs::CellRuns;
use crate::log::{Imported, Log, Outcome, Reduced, Unfinished};

/// The cells with their runs, whose rows, notes and reasons go to the log's summary. `blocks` is the number of
/// blocks to be run: the stop rule may have been met before the plan's end.
pub(crate) fn sorted(plan: &Plan, log: &mut Log, blocks: u32) -> Vec<CellRuns> {
    let mut cells = plan.cells.iter().map(CellRuns::new).collect::<Vec<_>>();
    for planned in &plan.runs {
        let Some(cell) = cells.get_mut(planned.cell) else {
            continue;
        };
        let (event, outcome) = log.outcomes.remove(&planned.index).unzip();
        if outcome.is_none() && planned.block >= blocks {
            continue;
        }
        let mut row = RunRow::new(planned, Status::Missing);
        match outcome {
            None => log.summary.incomplete.push(planned.index),
            Some(Outcome::Failed(failed)) => fail(&failed, &mut row, log),
            Some(Outcome::Imported(of)) => take_imported(of, cell, &mut row, log),
            Some(Outcome::Ended(run)) => take(*run, cell, &mut row, log),
        }
        let reason = match row.status {
            Status::LeftOut => row.reason.clone(),
            Status::Failed | Status::Lost | Status::Interrupted => {
                let reason = row.reason.as_deref().unwrap_or_default();
                Some(format!("{}: {reason}", row.status.name()))
            }
            Status::Used | Status::Missing => None,
        };
        log.summary
            .excluded
            .extend(reason.map(|reason| ExcludedRun {
                run: planned.index,
                block: planned.block,
                levels: cell.levels().clone(),
                reason,
            }));
        (row.event, row.began_at) = (event, log.began.remove(&planned.index));
        row.profiled = log.profiled.remove(&planned.index);
        log.summary.runs.push(row);
    }
    cells
}

fn fail(failed: &Unfinished, row: &mut RunRow, log: &mut Log) {
    row.status = match failed.kind {
        FailureKind::Failed => Status::Failed,
        FailureKind::Lost => Status::Lost,
        FailureKind::Interrupted => Status::Interrupted,
    };
    (row.reason, row.host_lacks) = (Some(harmless(&failed.reason)), failed.host_lacks);
    if row.status == Status::Interrupted {
        log.summary.incomplete.push(row.run);
    }
}

fn take_imported(imported: Imported, cell: &mut CellRuns, row: &mut RunRow, log: &mut Log) {
    let notes = imported.notes.iter();
    notes.for_each(|note| log.summary.note(None, harmless(note)));
    (row.status, row.figures) = (Status::Used, imported.figures);
    cell.imported(row);
}

/// Takes a run with a result, whose row the reader has made.
fn take(run: Reduced, cell: &mut CellRuns, row: &mut RunRow, log: &mut Log) {
    *row = run.row.clone();
    if row.status != Status::Used {
        return;
    }
    for note in row.not_in_effect.iter().chain(&run.notes) {
        log.summary.note(None, note.clone());
    }
    for note in run.emulator_trouble.iter().chain(&run.cell_notes) {
        log.summary.note(Some(cell.name()), note.clone());
    }
    cell.used(run, row);
}
