//! Which cells are compared with which, and whether their blocks are the same.

use metrics::Metric;
use model::study::Label;

use super::change::change;
use super::hosts::host_differences;
use super::{ComparedCell, Comparison, Unmatched};
use crate::frame::Execution;
use crate::rows::RunRow;
use crate::summary::CellSummary;

/// Whether runs of both sides were made in the same blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// In one execution, interleaved: what a block does to both cancels.
    Blocks,
    /// In two executions.
    Apart,
}

/// One side of a comparison within an execution: the levels that its cells have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side(pub Vec<(String, Label)>);

impl Side {
    fn has(&self, cell: &CellSummary) -> bool {
        self.0.iter().all(|level| cell.levels.contains(level))
    }

    fn name(&self) -> String {
        self.0.iter().map(|(factor, label)| format!("{factor}={label}")).collect::<Vec<_>>().join(" ")
    }
}

/// Two executions, cell by cell. Cells are the same where all their levels are.
pub fn across(old: &Execution, new: &Execution, metrics: &[&'static Metric], threshold_pct: f64) -> Comparison {
    let names = (old.name.clone(), new.name.clone());
    let key = |cell: &CellSummary| {
        let mut levels = cell.levels.clone();
        levels.sort();
        levels
    };
    let mut comparison = empty(names, Pairing::Apart, false, threshold_pct);
    comparison.host_differences = host_differences(old, new);
    let find = |cell: &CellSummary| new.summary.cells.iter().position(|other| key(other) == key(cell));
    for (index, cell) in old.summary.cells.iter().enumerate() {
        match find(cell) {
            Some(other) => {
                let rows = (rows_of(old, index), rows_of(new, other));
                let levels = cell.levels.clone();
                comparison.cells.push(compared(levels, &rows, metrics, Pairing::Apart, threshold_pct));
            }
            None => comparison.unmatched.push(Unmatched { cell: cell.name(), is_old: true }),
        }
    }
    let known = |cell: &&CellSummary| old.summary.cells.iter().all(|other| key(other) != key(cell));
    let only_new = new.summary.cells.iter().filter(known);
    comparison.unmatched.extend(only_new.map(|cell| Unmatched { cell: cell.name(), is_old: false }));
    comparison
}

/// Two sets of cells of one execution, each pair with the same levels of the factors that neither side names. Runs are paired
/// within blocks.
pub fn within(
    execution: &Execution,
    old: &Side,
    new: &Side,
    metrics: &[&'static Metric],
    threshold_pct: f64,
) -> Comparison {
    let named = |factor: &str| old.0.iter().chain(&new.0).any(|(known, _)| known == factor);
    let rest = |cell: &CellSummary| -> Vec<(String, Label)> {
        cell.levels.iter().filter(|(factor, _)| !named(factor)).cloned().collect()
    };
    let mut comparison = empty((old.name(), new.name()), Pairing::Blocks, true, threshold_pct);
    let cells = &execution.summary.cells;
    for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| old.has(cell)) {
        match cells.iter().position(|other| new.has(other) && rest(other) == rest(cell)) {
            Some(other) => {
                let rows = (rows_of(execution, index), rows_of(execution, other));
                comparison.cells.push(compared(rest(cell), &rows, metrics, Pairing::Blocks, threshold_pct));
            }
            None => comparison.unmatched.push(Unmatched { cell: cell.name(), is_old: true }),
        }
    }
    comparison
}

fn empty(names: (String, String), pairing: Pairing, is_within: bool, threshold_pct: f64) -> Comparison {
    let (host_differences, cells, unmatched) = (Vec::new(), Vec::new(), Vec::new());
    Comparison { names, pairing, is_within, threshold_pct, host_differences, cells, unmatched }
}

fn rows_of<'a>(execution: &'a Execution, cell: usize) -> Vec<&'a RunRow> {
    execution.summary.runs.iter().filter(|row| row.cell == cell).collect()
}

fn compared(
    levels: Vec<(String, Label)>,
    (old, new): &(Vec<&RunRow>, Vec<&RunRow>),
    metrics: &[&'static Metric],
    pairing: Pairing,
    threshold_pct: f64,
) -> ComparedCell {
    let changes = metrics.iter().filter_map(|metric| change(old, new, metric, pairing, threshold_pct)).collect();
    ComparedCell { levels, changes }
}
