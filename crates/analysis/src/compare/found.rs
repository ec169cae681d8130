//! What a comparison found.

use bitcost_model::study::{Label, phrase};
use bitcost_stats::hold_together;

use super::change::{Change, Pairing};
use super::verdict::Verdict;
use crate::metrics::Better;

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
        if self.levels.is_empty() {
            "all".to_owned()
        } else {
            phrase(&self.levels)
        }
    }
}

/// Everything that was compared.
#[derive(Clone, Debug)]
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

    /// How many changes have this verdict and hold among all of them.
    pub fn count_holding(&self, verdict: Verdict) -> usize {
        self.changes()
            .filter(|change| change.holds && change.verdict == verdict)
            .count()
    }

    /// The number of changes that were judged together: those with a better side and enough runs.
    pub fn judged_together(&self) -> usize {
        self.changes().filter(|change| is_judged(change)).count()
    }

    /// Judges all changes together, by Holm's procedure: the probability that any of those that
    /// then hold is none is at most 5 %.
    pub(super) fn hold_together(&mut self) {
        let changes = self.cells.iter_mut().flat_map(|cell| &mut cell.changes);
        let judged: Vec<&mut Change> = changes.filter(|change| is_judged(change)).collect();
        let chances: Vec<f64> = judged.iter().filter_map(|change| change.chance).collect();
        let hold = hold_together(&chances, FALSE_ALARMS);
        for (change, hold) in judged.into_iter().zip(hold) {
            change.holds = hold;
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

fn is_judged(change: &Change) -> bool {
    change.chance.is_some() && change.metric.better != Better::Neither
}
