//! What a comparison found.

use bitcost_model::study::{Label, phrase};
use bitcost_stats::hold_together;

use super::change::Change;
use super::verdict::Verdict;

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
fn name_of(levels: &[(String, Label)]) -> String {
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
    pub same_blocks: bool,
    /// Whether both sides are of one execution.
    pub is_within: bool,
    /// The change in per cent from which a metric is better or worse.
    pub threshold_pct: f64,
    /// What differs between the hosts, in words.
    pub host_differences: Vec<String>,
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

    /// The number of changes that were judged together: those with a better side and enough blocks.
    pub fn judged_together(&self) -> usize {
        let is_judged =
            |change: &&Change| change.metric.has_better_side() && change.chance.is_some();
        self.changes().filter(is_judged).count()
    }

    /// Keeps the verdicts on changes that are clear among all, by Holm's procedure: the probability that any of
    /// those that then hold is none is at most 5 %. Metrics with a better side are judged apart from those without.
    pub(super) fn hold_together(&mut self) {
        for has_better in [true, false] {
            let changes = self.cells.iter_mut().flat_map(|cell| &mut cell.changes);
            let judged = changes.filter(|change| change.metric.has_better_side() == has_better);
            let judged: Vec<(f64, &mut Verdict)> = judged
                .filter_map(|change| Some((change.chance?, &mut change.verdict)))
                .collect();
            let chances: Vec<f64> = judged.iter().map(|(chance, _)| *chance).collect();
            let hold = hold_together(&chances, FALSE_ALARMS);
            for ((_, verdict), holds) in judged.into_iter().zip(hold) {
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
        for change in self.cells.iter_mut().flat_map(|cell| &mut cell.changes) {
            (change.verdict, change.chance) = (Verdict::NotComparable, None);
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
