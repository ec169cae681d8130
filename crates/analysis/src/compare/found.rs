//! What a comparison found.

use bitcost_model::study::Label;
use bitcost_stats::{hold_together, median};
use serde::Serialize;

use super::change::{Change, Shift};
use super::verdict::Verdict;
use crate::cells::named;
use bitcost_model::as_map::as_map;

/// The change in per cent from which a metric is better or worse, unless another threshold is
/// named.
pub const THRESHOLD_PCT: f64 = 3.0;

/// The probability, at most, that any of the changes which hold together is none.
const FALSE_ALARMS: f64 = 0.05;

#[derive(Clone, Debug, Serialize)]
pub struct ComparedCell {
    #[serde(serialize_with = "as_map")]
    pub levels: Vec<(String, Label)>,
    pub changes: Vec<Change>,
}

impl ComparedCell {
    /// The levels in words; `all` where both sides are one cell each.
    pub fn name(&self) -> String {
        named(&self.levels)
    }
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    pub old: String,
    pub new: String,
    /// Whether the runs of both sides were made in the same blocks.
    pub same_blocks: bool,
    #[serde(skip)]
    pub is_within: bool,
    /// The change in per cent from which a metric is better or worse.
    pub threshold_pct: f64,
    /// The number of changes that were judged together: those with a better side and enough blocks.
    pub judged_together: usize,
    pub host_differences: Vec<String>,
    /// Settings, apart from the levels, that differ between compared cells, in words.
    pub setting_differences: Vec<String>,
    /// What became of runs that are not in the figures, or are disturbed: a sentence per execution.
    pub run_remarks: Vec<String>,
    /// How long the runs of the old side take, in seconds.
    #[serde(skip)]
    pub seconds: f64,
    /// The command that made both sides; empty where two did.
    #[serde(skip)]
    pub command_line: Vec<String>,
    pub cells: Vec<ComparedCell>,
    pub unmatched: Vec<Unmatched>,
}

/// A cell that has no counterpart to be compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    pub cell: String,
    pub is_old: bool,
}

impl Comparison {
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.cells.iter().flat_map(|cell| &cell.changes)
    }

    /// The smallest change of a ratio that these runs can show, in per cent: half of an interval's width, in the median.
    pub fn smallest_pct(&self) -> Option<f64> {
        let widths = self.changes().filter_map(|change| match change.shift? {
            Shift::Ratio(ratio) => Some(50.0 * (ratio.high? - ratio.low?) / ratio.value),
            Shift::Difference(_) => None,
        });
        median(&widths.collect::<Vec<f64>>())
    }

    /// The largest change of a ratio, in per cent, that the interval of one with the verdict *same* holds; 0 without any.
    pub fn same_within_pct(&self) -> f64 {
        let same = self.changes().filter(|of| of.verdict == Verdict::Same);
        let ends = same.filter_map(|change| match change.shift? {
            Shift::Ratio(_) => Some(change.shift?.change()),
            Shift::Difference(_) => None,
        });
        let ends = ends.filter_map(|change| Some(change.high?.max(-change.low?)));
        ends.fold(0.0, f64::max)
    }

    pub fn count(&self, verdict: Verdict) -> usize {
        let of = self.changes().filter(|change| change.verdict == verdict);
        of.count()
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
            if has_better {
                self.judged_together = chances.len();
            }
            let hold = hold_together(&chances, FALSE_ALARMS);
            for ((_, verdict), holds) in judged.into_iter().zip(hold) {
                if verdict.is_change() && !holds {
                    *verdict = Verdict::CannotTell;
                }
            }
        }
    }

    /// The number of cells of the old side that the new execution does not have. Within one
    /// execution the study determines which cells there are, so none is lost.
    pub fn lost_cells(&self) -> usize {
        let lost = self.unmatched.iter().filter(|only| only.is_old);
        lost.filter(|_| !self.is_within).count()
    }

    pub fn side(&self, is_old: bool) -> &str {
        if is_old { &self.old } else { &self.new }
    }
}
