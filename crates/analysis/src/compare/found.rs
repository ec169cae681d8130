//! What a comparison found.

use bitcost_model::study::{Label, phrase};
use bitcost_stats::hold_together;

use super::change::{Change, Pairing};
use super::executions::Together;
use super::verdict::Verdict;
use crate::metrics::Metric;

/// The change in per cent from which a metric is better or worse, unless another threshold is
/// named.
pub const THRESHOLD_PCT: f64 = 3.0;

/// The probability, at most, that any of the changes which hold together is none.
const FALSE_ALARMS: f64 = 0.05;

/// Two cells that were compared.
#[derive(Clone, Debug)]
pub struct ComparedCell {
    /// The levels that both have.
    pub levels: Vec<(String, Label)>,
    /// One change per metric.
    pub changes: Vec<Change>,
}

impl ComparedCell {
    /// The levels in words; `all` where both sides are one cell each.
    pub fn name(&self) -> String {
        name_of(&self.levels)
    }
}

/// Levels in words; `all` without any.
pub(super) fn name_of(levels: &[(String, Label)]) -> String {
    match levels.is_empty() {
        true => "all".to_owned(),
        false => phrase(levels),
    }
}

/// Everything that was compared.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Names of the old and the new side.
    pub names: (String, String),
    /// Whether the runs of both sides were made in the same blocks.
    pub pairing: Pairing,
    /// Whether both sides are of one execution.
    pub is_within: bool,
    /// The change in per cent from which a metric is better or worse.
    pub threshold_pct: f64,
    /// What differs between the machines during the runs, their speed and how far their CPUs are
    /// from each other, in words: the likely cause of changes.
    pub machine_differences: Vec<String>,
    /// What differs between the hosts, in words.
    pub host_differences: Vec<String>,
    /// Constants of the hosts that differ by more than their spread allows, in words.
    pub constant_differences: Vec<String>,
    /// Settings, apart from the levels, that differ between compared cells, in words.
    pub setting_differences: Vec<String>,
    /// Levels that only one side has, in words.
    pub known_to_one: Vec<String>,
    /// What became of runs that are not in the figures, or are disturbed: a sentence per execution.
    pub run_remarks: Vec<String>,
    /// Why the sides cannot be compared, a sentence each; empty where they can.
    pub not_comparable: Vec<String>,
    /// The number of executions of the old and of the new side.
    pub executions: (usize, usize),
    /// What all cells have in common, one entry per metric of three cells or more.
    pub together: Vec<Together>,
    /// The cells that both sides have.
    pub cells: Vec<ComparedCell>,
    /// Cells that only one side has.
    pub unmatched: Vec<Unmatched>,
}

/// A cell that has no counterpart to be compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// Its levels in words.
    pub cell: String,
    /// Whether it is of the old side.
    pub is_old: bool,
    /// Why it matches no cell of the other side.
    pub why: Option<String>,
}

impl Comparison {
    /// Every change.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.cells.iter().flat_map(|cell| &cell.changes)
    }

    /// How many changes have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.changes()
            .filter(|change| change.verdict == verdict)
            .count()
    }

    /// The number of changes that were judged together: those with a better side and enough runs.
    pub fn judged_together(&self) -> usize {
        let changes = self.changes().map(|change| (change.metric, change.chance));
        let together = self.together.iter();
        let all = changes.chain(together.map(|found| (found.metric, found.chance)));
        let judged = |(metric, chance): &(&Metric, Option<f64>)| {
            metric.has_better_side() && chance.is_some()
        };
        all.filter(judged).count()
    }

    /// What most cells of a metric have in common, where that is clear.
    pub fn moved_together(&self) -> impl Iterator<Item = &Together> {
        let is_said = |found: &&Together| {
            let (cells, alike) = found.cells;
            found.verdict.is_change() && 3 * alike >= 2 * cells
        };
        self.together.iter().filter(is_said)
    }

    /// Whether a change is that of most cells of its metric, which is said of all of them at once.
    pub fn moves_with_all(&self, change: &Change) -> bool {
        let mut together = self.moved_together();
        let all = together.find(|found| found.metric.name == change.metric.name);
        all.zip(change.shift).is_some_and(|(all, shift)| {
            let own = shift.change();
            let bounds = own.low.zip(own.high);
            bounds.is_some_and(|(low, high)| (low..=high).contains(&all.shift.change().value))
        })
    }

    /// Keeps the verdicts on changes that are clear among all, by Holm's procedure: the probability that any of
    /// those that then hold is none is at most 5 %. Metrics with a better side are judged apart from those without.
    pub(super) fn hold_together(&mut self) {
        for has_better in [true, false] {
            let is_of = |metric: &Metric| metric.has_better_side() == has_better;
            let changes = self.cells.iter_mut().flat_map(|cell| &mut cell.changes);
            let changes = changes
                .filter(|change| is_of(change.metric))
                .map(|change| (change.chance, &mut change.verdict));
            let together = self.together.iter_mut().filter(|found| is_of(found.metric));
            let together = together.map(|found| (found.chance, &mut found.verdict));
            let judged: Vec<_> = changes
                .chain(together)
                .filter_map(|(chance, verdict)| Some((chance?, verdict)))
                .collect();
            let chances: Vec<f64> = judged.iter().map(|(chance, _)| *chance).collect();
            for ((_, verdict), holds) in judged
                .into_iter()
                .zip(hold_together(&chances, FALSE_ALARMS))
            {
                if verdict.is_change() && !holds {
                    *verdict = Verdict::CannotTell;
                }
            }
        }
    }

    /// Takes every verdict back where the sides cannot be compared.
    pub(super) fn refuse(&mut self) {
        if self.not_comparable.is_empty() {
            return;
        }
        self.together.clear();
        for change in self.cells.iter_mut().flat_map(|cell| &mut cell.changes) {
            *change = change.clone().not_comparable();
        }
    }

    /// The number of cells of the old side that the new execution does not have. Within one
    /// execution the study determines which cells there are, so none is lost.
    pub fn lost_cells(&self) -> usize {
        self.unmatched
            .iter()
            .filter(|unmatched| !self.is_within && unmatched.is_old)
            .count()
    }

    /// The name of the old or of the new side.
    pub fn side(&self, is_old: bool) -> &str {
        if is_old { &self.names.0 } else { &self.names.1 }
    }
}
