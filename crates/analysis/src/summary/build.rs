//! From events to figures per cell: medians with intervals, improvements, and runs that were left
//! out, with the reason.

use bitcost_model::plan::Plan;
use indexmap::IndexMap;

use super::answered::answered;
use super::improvement::improvements;
use super::known::{Note, Summary};
use super::precision::Precision;
use crate::cells::{CellRuns, ExcludedRun, Places, Status, machine_caveat};
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
    let made = if summary.is_ended { blocks } else { most };
    summary.precision = Precision::of(study, &cells, plan.seed, made);
    summary.runs = rows;
    summary.planned = plan.cells;
    summary
}

/// The precision of the runs that a reader took, after this number of blocks; absent where the
/// study has no stop rule.
pub fn precision_after(blocks: u32, reader: Reader) -> Result<Option<Precision>, LogError> {
    let (mut log, plan) = reader.finish()?;
    place_rows(&plan, &mut log, blocks);
    let study = &log.summary.study;
    let cells = CellRuns::all(&plan.cells, &log.summary.runs);
    Ok(Precision::of(study, &cells, plan.seed, blocks))
}

/// Puts the row of each planned run, with what is said of it, into the log's summary. `blocks` is the number of blocks to be
/// run: the stop rule may have been met before the plan's end.
fn place_rows(plan: &Plan, log: &mut Log, blocks: u32) {
    let (summary, mut planned, mut noted) = (&mut log.summary, plan.runs.iter(), IndexMap::new());
    summary.runs = std::mem::take(&mut log.rows);
    let (excluded, incomplete) = (&mut summary.excluded, &mut summary.incomplete);
    summary.runs.retain_mut(|row| {
        let planned = planned.next().map(|of| (of, plan.cells.get(of.cell)));
        let Some((planned, Some(cell))) = planned else {
            return false;
        };
        match row.status {
            Status::Missing if planned.block >= blocks => return false,
            Status::Missing | Status::Interrupted => incomplete.push(planned.index),
            _ => {}
        }
        (row.run, row.block, row.cell) = (planned.index, planned.block, planned.cell);
        let reason = row.reason.clone();
        let reason = match row.status {
            Status::Used => {
                let told = row.told.clone().unwrap_or_default();
                let of_run = row.not_in_effect.iter().chain(&told.notes);
                let of_cell = told.of_cell.iter().map(|note| (Some(row.cell), note));
                for (cell, note) in of_run.map(|note| (None, note)).chain(of_cell) {
                    *noted.entry((cell, note.clone())).or_default() += 1;
                }
                None
            }
            Status::LeftOut | Status::Missing => reason,
            status => reason.map(|reason| format!("{}: {reason}", status.name())),
        };
        excluded.extend(reason.map(|reason| ExcludedRun {
            run: row.run,
            block: row.block,
            levels: cell.levels.clone(),
            reason,
        }));
        true
    });
    let note = |((cell, text), runs): ((Option<usize>, String), usize)| Note {
        cell: cell.map(|cell| plan.cells[cell].name()),
        text,
        runs,
    };
    summary.notes = noted.into_iter().map(note).collect();
}
