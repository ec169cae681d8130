//! Which cells are compared with which, and whether their blocks are the same.

use std::collections::BTreeMap;

use bitcost_model::study::Label;

use super::change::change_of;
use super::found::{ComparedCell, Comparison, Unmatched};
use super::matching::matched;
use super::remarks::{
    host_sentences, machine_remark, other_machines, run_remarks, setting_differences,
};
use crate::cells::{CellSummary, RunRow};
use crate::findings::Findings;
use crate::metrics::Metric;

/// One side of a comparison within an execution: the levels that its cells have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side(pub Vec<(String, Label)>);

impl Side {
    pub fn has(&self, cell: &CellSummary) -> bool {
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

/// Compares two sides, each of one execution or several, cell by cell. Cells correspond where no level
/// known to both differs; those of the first old execution are compared.
pub fn across(
    old: &[Findings],
    new: &[Findings],
    metrics: &[&'static Metric],
    threshold_pct: f64,
) -> Comparison {
    let mut comparison = Comparison {
        old: side_name(old),
        new: side_name(new),
        threshold_pct,
        old_executions: old.len(),
        new_executions: new.len(),
        ..Comparison::default()
    };
    let ([first, ..], [other, ..]) = (old, new) else {
        return comparison;
    };
    let matched = matched(first, other);
    let both = |(was, is): &(usize, usize)| (&first.summary.cells[*was], &other.summary.cells[*is]);
    let cells: Vec<_> = matched.pairs.iter().map(both).collect();
    comparison.host_differences = host_sentences(first, other);
    comparison.setting_differences = setting_differences(first, other, &matched.pairs);
    comparison.run_remarks = old.iter().chain(new).filter_map(run_remarks).collect();
    let names = [&*comparison.old, &*comparison.new];
    let machine = machine_remark(names, [old, new]);
    comparison.run_remarks.extend(machine);
    let runs = executions(&matched.pairs, old, new);
    for ((was, is), [old, new]) in cells.into_iter().zip(&runs) {
        let change = |metric: &&'static Metric| change_of(old, new, metric, false, threshold_pct);
        comparison.cells.push(ComparedCell {
            levels: levels(first, was, is),
            changes: metrics.iter().filter_map(change).collect(),
        });
    }
    comparison.known_to_one = matched.known_to_one;
    comparison.unmatched = matched.unmatched;
    comparison.not_comparable = other_machines(first, other);
    comparison.refuse();
    comparison.hold_together();
    comparison
}

fn side_name(executions: &[Findings]) -> String {
    let names: Vec<&str> = executions.iter().map(|one| one.name.as_str()).collect();
    match &names[..] {
        [first, second, third, others @ ..] if !others.is_empty() => {
            format!("{first}, {second}, {third} and {} more", others.len())
        }
        _ => names.join(", "),
    }
}

fn levels(old: &Findings, was: &CellSummary, is: &CellSummary) -> Vec<(String, Label)> {
    let is_new = |level: &&(String, Label)| old.summary.study.factor(&level.0).is_none();
    let further = is.levels.iter().filter(is_new);
    was.levels.iter().chain(further).cloned().collect()
}

/// The runs of a cell in each execution of both sides, the old side first.
type Executions<'a> = [Vec<Vec<&'a RunRow>>; 2];

/// The runs of each pair of cells in each execution of both sides.
fn executions<'a>(
    pairs: &[(usize, usize)],
    old: &'a [Findings],
    new: &'a [Findings],
) -> Vec<Executions<'a>> {
    let mut found: Vec<Executions> = vec![[Vec::new(), Vec::new()]; pairs.len()];
    for (side, executions, place) in [
        (0, old, (|pair| pair.0) as fn(&(usize, usize)) -> usize),
        (1, new, |pair| pair.1),
    ] {
        for (number, execution) in executions.iter().enumerate() {
            let rows = rows_by_cell(execution);
            // The place of each cell of the side's first execution.
            let places: BTreeMap<usize, usize> = match number {
                0 => (0..rows.len()).map(|cell| (cell, cell)).collect(),
                _ => matched(&executions[0], execution)
                    .pairs
                    .into_iter()
                    .collect(),
            };
            for (cell, pair) in found.iter_mut().zip(pairs) {
                cell[side].extend(places.get(&place(pair)).map(|cell| rows[*cell].clone()));
            }
        }
    }
    found
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
    let mut comparison = Comparison {
        old: old_side.name(),
        new: new_side.name(),
        same_blocks: !execution.summary.is_imported,
        is_within: true,
        threshold_pct,
        old_executions: 1,
        new_executions: 1,
        run_remarks: run_remarks(execution).into_iter().collect(),
        ..Comparison::default()
    };
    let (cells, rows) = (&execution.summary.cells, rows_by_cell(execution));
    let places = |side: &Side| -> BTreeMap<Vec<(String, Label)>, usize> {
        let of_side = cells.iter().enumerate().filter(|(_, cell)| side.has(cell));
        of_side.map(|(place, cell)| (rest(cell), place)).collect()
    };
    let (olds, news) = (places(&old_side), places(&new_side));
    let of_old = cells.iter().enumerate();
    for (place, cell) in of_old.filter(|(_, cell)| old_side.has(cell)) {
        let levels = rest(cell);
        let Some(other) = news.get(&levels) else {
            comparison.unmatched.push(alone(cell, true));
            continue;
        };
        let (old, new) = (&rows[place..=place], &rows[*other..=*other]);
        let same_blocks = comparison.same_blocks;
        let change =
            |metric: &&'static Metric| change_of(old, new, metric, same_blocks, threshold_pct);
        comparison.cells.push(ComparedCell {
            levels,
            changes: metrics.iter().filter_map(change).collect(),
        });
    }
    let is_new = |cell: &&CellSummary| new_side.has(cell) && !olds.contains_key(&rest(cell));
    let only_new = cells.iter().filter(is_new);
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

fn rows_by_cell(execution: &Findings) -> Vec<Vec<&RunRow>> {
    let mut rows = vec![Vec::new(); execution.summary.cells.len()];
    execution
        .summary
        .runs
        .iter()
        .for_each(|row| rows[row.cell].push(row));
    rows
}
