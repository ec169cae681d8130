//! Which cells are compared with which, and whether their blocks are the same.

use std::collections::{BTreeMap, BTreeSet};

use bitcost_model::plan::RUN_OVERHEAD;
use bitcost_model::study::{Cell, Label};

use super::change::change_of;
use super::found::{ComparedCell, Comparison, Unmatched};
use super::matching::matched;
use super::remarks::{host_sentences, machine_remark, run_remarks, setting_differences};
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
        let levels = self
            .0
            .iter()
            .map(|(factor, label)| format!("{factor}={label}"));
        levels.collect::<Vec<_>>().join(" ")
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
        ..Comparison::default()
    };
    let ([first, ..], [other, ..]) = (old, new) else {
        return comparison;
    };
    let matched = matched(first, other);
    comparison.seconds = old.iter().map(seconds).sum();
    comparison.host_differences = host_sentences(first, other);
    comparison.setting_differences = setting_differences(first, other, &matched.pairs);
    comparison.run_remarks = old.iter().chain(new).filter_map(run_remarks).collect();
    let names = [&*comparison.old, &*comparison.new];
    let machine = machine_remark(names, [old, new]);
    comparison.run_remarks.extend(machine);
    let (olds, news): (Vec<usize>, Vec<usize>) = matched.pairs.iter().copied().unzip();
    let levels = matched.pairs.iter().map(|(was, is)| {
        let is_new = |level: &&(String, Label)| first.summary.study.factor(&level.0).is_none();
        let was = first.summary.cells[*was].levels.iter();
        let is = other.summary.cells[*is].levels.iter();
        was.chain(is.filter(is_new)).cloned().collect()
    });
    let sides = runs_of(old, &olds).into_iter().zip(runs_of(new, &news));
    comparison.compare(levels.zip(sides), metrics);
    comparison.unmatched = matched.unmatched;
    comparison.hold_together();
    comparison
}

/// How long the runs of an execution take.
fn seconds(execution: &Findings) -> f64 {
    let summary = &execution.summary;
    // How long a run of another program took is not known.
    let planned = |run: &RunRow| {
        summary
            .planned
            .get(run.cell)
            .filter(|_| !summary.is_imported)
    };
    let runs = summary.runs.iter().filter_map(planned);
    let time = |cell: &Cell| cell.conditions.warmup_ms + cell.conditions.duration_ms;
    let of = |cell| f64::from(time(cell)) / 1e3 + RUN_OVERHEAD.as_secs_f64();
    runs.map(of).sum()
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

/// The used runs of a cell in each execution of a side.
type Runs<'a> = Vec<Vec<&'a RunRow>>;

/// The runs of these cells of the first execution of a side.
fn runs_of<'a>(executions: &'a [Findings], cells: &[usize]) -> Vec<Runs<'a>> {
    let mut found = vec![Vec::new(); cells.len()];
    for (number, execution) in executions.iter().enumerate() {
        let rows = execution.summary.used();
        let places: BTreeMap<usize, usize> = match number {
            0 => cells.iter().map(|cell| (*cell, *cell)).collect(),
            _ => BTreeMap::from_iter(matched(&executions[0], execution).pairs),
        };
        for (runs, cell) in found.iter_mut().zip(cells) {
            runs.extend(places.get(cell).map(|place| rows[*place].clone()));
        }
    }
    found
}

impl Comparison {
    /// Adds cells with their levels and the runs of the old and of the new side.
    fn compare<'a>(
        &mut self,
        cells: impl Iterator<Item = (Vec<(String, Label)>, (Runs<'a>, Runs<'a>))>,
        metrics: &[&'static Metric],
    ) {
        let (same_blocks, threshold_pct) = (self.same_blocks, self.threshold_pct);
        self.cells.extend(cells.map(|(levels, (old, new))| {
            let change = |metric: &&'static Metric| {
                change_of(&old, &new, metric, same_blocks, threshold_pct)
            };
            let changes = metrics.iter().filter_map(change).collect();
            ComparedCell { levels, changes }
        }));
    }
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
        let levels = cell.levels.iter();
        levels
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
        run_remarks: run_remarks(execution).into_iter().collect(),
        seconds: seconds(execution) / 2.0,
        command_line: execution.summary.command_line.clone(),
        ..Comparison::default()
    };
    let (cells, rows) = (&execution.summary.cells, execution.summary.used());
    let of_side = |side: &Side| -> Vec<(Vec<(String, Label)>, usize)> {
        let of_side = cells.iter().enumerate().filter(|(_, cell)| side.has(cell));
        of_side.map(|(place, cell)| (rest(cell), place)).collect()
    };
    let [olds, news] = [&old_side, &new_side].map(of_side);
    for (is_old, here, there) in [(true, &olds, &news), (false, &news, &olds)] {
        let there: BTreeSet<&Vec<_>> = there.iter().map(|(levels, _)| levels).collect();
        let alone = here.iter().filter(|(levels, _)| !there.contains(levels));
        comparison
            .unmatched
            .extend(alone.map(|(_, place)| Unmatched {
                cell: cells[*place].name(),
                is_old,
            }));
    }
    let others: BTreeMap<Vec<_>, usize> = news.into_iter().collect();
    let pair = |(levels, place): (Vec<_>, usize)| {
        let [old, new] = [place, *others.get(&levels)?].map(|place| vec![rows[place].clone()]);
        Some((levels, (old, new)))
    };
    comparison.compare(olds.into_iter().filter_map(pair), metrics);
    comparison.hold_together();
    comparison
}
