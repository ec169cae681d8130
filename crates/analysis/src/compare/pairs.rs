//! Which cells are compared with which, and whether their blocks are the same.

use std::collections::BTreeMap;

use bitcost_model::study::Label;

use super::change::{Pairing, change};
use super::constants::{constant_differences, unexplained};
use super::executions::{changes, duet_together};
use super::found::{ComparedCell, Comparison, Unmatched, name_of};
use super::hosts::{host_sentences, other_machines};
use super::machine::{Runs, machine_differences};
use super::matching::matched;
use super::regime::remark as remark_on_regimes;
use super::runs::runs_in_words;
use super::settings::setting_differences;
use super::softirqs::softirq_differences;
use super::state::{Executions, used};
use crate::cells::{CellSummary, RunRow};
use crate::findings::Findings;
use crate::metrics::Metric;

/// One side of a comparison within an execution: the levels that its cells have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side(pub Vec<(String, Label)>);

impl Side {
    /// Whether a cell has these levels.
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
    let names = (side_name(old), side_name(new));
    let mut comparison = empty(names, Pairing::Apart, false, threshold_pct);
    comparison.executions = (old.len(), new.len());
    let ([first, ..], [other, ..]) = (old, new) else {
        return comparison;
    };
    let matched = matched(first, other);
    comparison.host_differences = host_sentences(first, other);
    comparison.constant_differences = constant_differences(first, other);
    comparison.setting_differences = setting_differences(first, other, &matched.pairs);
    let cells: Vec<_> = matched
        .pairs
        .iter()
        .map(|(was, is)| (&first.summary.cells[*was], &other.summary.cells[*is]))
        .collect();
    comparison
        .setting_differences
        .extend(softirq_differences(&cells));
    comparison.run_remarks = (old.iter().chain(new))
        .filter_map(|side| remark(&side.name, side))
        .collect();
    let executions = executions(&matched.pairs, old, new);
    let runs: Vec<Runs> = executions
        .iter()
        .map(|cell| cell.each_ref().map(|side| used(&side.concat())))
        .collect();
    let sides = match (old.len(), new.len()) {
        (1, 1) => [first.name.as_str(), other.name.as_str()],
        _ => ["the old executions", "the new executions"],
    };
    comparison.machine_differences = machine_differences(sides, &[first, other], &runs);
    let found = changes(&executions, metrics, unexplained(old, new), threshold_pct);
    let levels = cells.iter().map(|(was, is)| levels(first, was, is));
    let levels: Vec<_> = levels.collect();
    let remarks = levels
        .iter()
        .zip(&runs)
        .filter_map(|(levels, [old, new])| remark_on_regimes(&name_of(levels), old, new));
    comparison.run_remarks.extend(remarks);
    comparison.cells = levels
        .into_iter()
        .zip(found.cells)
        .map(|(levels, changes)| ComparedCell { levels, changes })
        .collect();
    (comparison.together, comparison.known_to_one) = (found.together, matched.known_to_one);
    comparison.unmatched = matched.unmatched;
    comparison.not_comparable = other_machines(first, other);
    if !found.has_common_state {
        comparison.not_comparable.push(NO_STATE.to_owned());
    }
    comparison.refuse();
    comparison.hold_together();
    comparison
}

/// Why no run of one side can be compared with one of the other.
const NO_STATE: &str = "the endpoints' CPUs were never equally far from each other on both sides, or other programs disturbed the runs; measure again";

fn side_name(executions: &[Findings]) -> String {
    let names: Vec<&str> = executions.iter().map(|one| one.name.as_str()).collect();
    match &names[..] {
        [first, second, third, others @ ..] if !others.is_empty() => {
            format!("{first}, {second}, {third} and {} more", others.len())
        }
        _ => names.join(", "),
    }
}

/// The levels of both cells, those of the old one first.
fn levels(old: &Findings, was: &CellSummary, is: &CellSummary) -> Vec<(String, Label)> {
    let is_new = |level: &&(String, Label)| old.summary.study.factor(&level.0).is_none();
    let further = is.levels.iter().filter(is_new);
    was.levels.iter().chain(further).cloned().collect()
}

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
    let pairing = match &execution.summary.study.compare {
        _ if execution.summary.is_imported => Pairing::Apart,
        Some(compared) if named(&compared.factor) => Pairing::Duet,
        _ => Pairing::Blocks,
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
    let mut sides = Vec::new();
    let of_old = cells.iter().enumerate();
    for (place, cell) in of_old.filter(|(_, cell)| old_side.has(cell)) {
        let levels = rest(cell);
        match news.get(&levels) {
            Some(other) => {
                let rows = (&rows[place][..], &rows[*other][..]);
                sides.push(rows);
                let remark = remark_on_regimes(&name_of(&levels), rows.0, rows.1);
                comparison.run_remarks.extend(remark);
                let cell = compared(levels, rows, metrics, pairing, threshold_pct);
                comparison.cells.push(cell);
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
    if pairing == Pairing::Duet {
        let of_metric = |metric: &&'static Metric| duet_together(&sides, metric, threshold_pct);
        comparison.together = metrics.iter().filter_map(of_metric).collect();
    }
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
        executions: (1, 1),
        ..Comparison::default()
    }
}

pub(crate) fn rows_by_cell(execution: &Findings) -> Vec<Vec<&RunRow>> {
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
