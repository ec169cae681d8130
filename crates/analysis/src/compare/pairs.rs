//! Which cells are compared with which, and whether their blocks are the same.

use std::collections::BTreeMap;

use bitcost_model::study::Label;

use super::change::{Pairing, change};
use super::constants::constant_differences;
use super::found::{ComparedCell, Comparison, Unmatched};
use super::hosts::host_differences;
use super::machine::{Runs, machine_differences};
use super::matching::matched;
use super::runs::runs_in_words;
use super::settings::setting_differences;
use super::softirqs::softirq_differences;
use crate::cells::{CellSummary, RunRow};
use crate::findings::Findings;
use crate::metrics::Metric;

/// One side of a comparison within an execution: the levels that its cells have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side(pub Vec<(String, Label)>);

impl Side {
    fn has(&self, cell: &CellSummary) -> bool {
        self.0.iter().all(|level| cell.levels.contains(level))
    }

    fn name(&self) -> String {
        self.0
            .iter()
            .map(|(factor, label)| format!("{factor}={label}"))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// This side, completed with the other side's levels of the factors that it does not name.
    fn completed(&self, other: &Side) -> Side {
        let named = |factor: &str| self.0.iter().any(|(known, _)| known == factor);
        let inherited = other.0.iter().filter(|(factor, _)| !named(factor));
        Side(self.0.iter().chain(inherited).cloned().collect())
    }

    /// Whether both sides are the same cells, each completed with the other's levels of the factors
    /// that it does not name.
    pub fn is_same_as(&self, other: &Side) -> bool {
        let (here, there) = (self.completed(other), other.completed(self));
        here.0.iter().all(|level| there.0.contains(level))
    }
}

/// Compares two executions, cell by cell. Cells correspond where no level known to both differs.
pub fn across(
    old: &Findings,
    new: &Findings,
    metrics: &[&'static Metric],
    threshold_pct: f64,
) -> Comparison {
    let matched = matched(old, new);
    let mut comparison = empty(
        (old.name.clone(), new.name.clone()),
        Pairing::Apart,
        false,
        threshold_pct,
    );
    comparison.host_differences = host_differences(old, new);
    comparison.constant_differences = constant_differences(old, new);
    comparison.setting_differences = setting_differences(old, new, &matched.pairs);
    let cells: Vec<_> = matched
        .pairs
        .iter()
        .map(|(was, is)| (&old.summary.cells[*was], &new.summary.cells[*is]))
        .collect();
    comparison
        .setting_differences
        .extend(softirq_differences(&cells));
    comparison.known_to_one = matched.known_to_one;
    comparison.run_remarks = [old, new]
        .into_iter()
        .filter_map(|side| remark(&side.name, side))
        .collect();
    let (old_rows, new_rows) = (rows_by_cell(old), rows_by_cell(new));
    let pairs = matched.pairs.iter();
    let runs: Vec<Runs> = pairs
        .map(|(was, is)| [&old_rows[*was][..], &new_rows[*is][..]])
        .collect();
    comparison.machine_differences = machine_differences(old, new, &runs);
    for (was, is) in matched.pairs {
        let mut levels = old.summary.cells[was].levels.clone();
        let further = new.summary.cells[is].levels.iter();
        levels.extend(
            further
                .filter(|(factor, _)| old.summary.study.factor(factor).is_none())
                .cloned(),
        );
        let rows = (&old_rows[was][..], &new_rows[is][..]);
        comparison.cells.push(compared(
            levels,
            rows,
            metrics,
            Pairing::Apart,
            threshold_pct,
        ));
    }
    comparison.unmatched = matched.unmatched;
    comparison.hold_together();
    comparison
}

/// Compares two sets of cells of one execution, pairing cells with the same levels of the factors
/// that neither side names. A level that only one side names applies to the other side too. The
/// runs are in the same blocks, unless they are of other programs.
pub fn within(
    execution: &Findings,
    old: &Side,
    new: &Side,
    metrics: &[&'static Metric],
    threshold_pct: f64,
) -> Comparison {
    let (old_side, new_side) = (old.completed(new), new.completed(old));
    let named = |factor: &str| old_side.0.iter().any(|(known, _)| known == factor);
    let rest = |cell: &CellSummary| -> Vec<(String, Label)> {
        cell.levels
            .iter()
            .filter(|(factor, _)| !named(factor))
            .cloned()
            .collect()
    };
    let pairing = if execution.summary.is_imported {
        Pairing::Apart
    } else {
        Pairing::Blocks
    };
    let mut comparison = empty(
        (old_side.name(), new_side.name()),
        pairing,
        true,
        threshold_pct,
    );
    comparison
        .run_remarks
        .extend(remark(&execution.name, execution));
    let (cells, rows) = (&execution.summary.cells, rows_by_cell(execution));
    let places = |side: &Side| -> BTreeMap<Vec<(String, Label)>, usize> {
        let of_side = cells.iter().enumerate().filter(|(_, cell)| side.has(cell));
        of_side.map(|(place, cell)| (rest(cell), place)).collect()
    };
    let (olds, news) = (places(&old_side), places(&new_side));
    let pairs: Vec<_> = olds
        .iter()
        .filter_map(|(levels, old)| Some((&cells[*old], &cells[*news.get(levels)?])))
        .collect();
    comparison.setting_differences = softirq_differences(&pairs);
    for (place, cell) in cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| old_side.has(cell))
    {
        let levels = rest(cell);
        match news.get(&levels) {
            Some(other) => {
                let rows = (&rows[place][..], &rows[*other][..]);
                comparison
                    .cells
                    .push(compared(levels, rows, metrics, pairing, threshold_pct));
            }
            None => comparison.unmatched.push(alone(cell, true)),
        }
    }
    let only_new = cells
        .iter()
        .filter(|cell| new_side.has(cell) && !olds.contains_key(&rest(cell)));
    comparison
        .unmatched
        .extend(only_new.map(|cell| alone(cell, false)));
    comparison.hold_together();
    comparison
}

fn alone(cell: &CellSummary, is_old: bool) -> Unmatched {
    Unmatched {
        cell: cell.name(),
        is_old,
        why: None,
    }
}

fn remark(name: &str, execution: &Findings) -> Option<String> {
    Some(format!("{name}: {}", runs_in_words(execution)?))
}

fn empty(
    names: (String, String),
    pairing: Pairing,
    is_within: bool,
    threshold_pct: f64,
) -> Comparison {
    Comparison {
        names,
        pairing,
        is_within,
        threshold_pct,
        machine_differences: Vec::new(),
        host_differences: Vec::new(),
        constant_differences: Vec::new(),
        setting_differences: Vec::new(),
        known_to_one: Vec::new(),
        run_remarks: Vec::new(),
        cells: Vec::new(),
        unmatched: Vec::new(),
    }
}

/// The runs of each cell.
fn rows_by_cell(execution: &Findings) -> Vec<Vec<&RunRow>> {
    let mut rows = vec![Vec::new(); execution.summary.cells.len()];
    execution
        .summary
        .runs
        .iter()
        .for_each(|row| rows[row.cell].push(row));
    rows
}

fn compared(
    levels: Vec<(String, Label)>,
    (old, new): (&[&RunRow], &[&RunRow]),
    metrics: &[&'static Metric],
    pairing: Pairing,
    threshold_pct: f64,
) -> ComparedCell {
    let changes = metrics
        .iter()
        .filter_map(|metric| change(old, new, metric, pairing, threshold_pct))
        .collect();
    ComparedCell { levels, changes }
}
