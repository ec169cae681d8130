//! One metric of two sets of runs: by how much it changed, and the verdict on the change.

use std::collections::BTreeMap;

use bitcost_stats::{Effect, Estimate, Interval, Scale};

use super::regime;
use super::state::{pairs_of_one_state, used};
use super::verdict::Verdict;
use crate::cells::RunRow;
use crate::metrics::{Better, Metric};

/// A change of a share by fewer percentage points than this counts as none: a loss of 0.01 % that
/// doubles is nothing that anybody notices.
pub const SHARE_POINTS: f64 = 0.1;

/// Whether runs of both sides were made in the same blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairing {
    /// The runs are of one execution and interleaved: what a block does to both sides cancels.
    Blocks,
    /// The two runs of a block were made one after the other: each pair has its own change.
    Duet,
    /// The runs are of two executions, or of other programs.
    #[default]
    Apart,
}

/// A ratio as a change in per cent.
pub fn pct(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

/// The ratio of the loop's times from which another program or processor may be the cause: a debug
/// build takes 16 times as long.
pub(super) const OTHER_PROGRAM_RATIO: f64 = 3.0;

/// The least number of runs on each side from which a change can be determined.
pub(super) const RUNS: usize = 2;

/// By how much a metric changed, with a 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shift {
    /// New ÷ old.
    Ratio(Interval),
    /// New − old, in the metric's unit, where a value is not above 0 and so there is no ratio.
    Difference(Interval),
}

impl Shift {
    /// The change as it is judged and drawn, in per cent or in the metric's unit; 0 means no
    /// change.
    pub fn change(&self) -> Interval {
        match self {
            Shift::Ratio(ratio) => ratio.map(pct),
            Shift::Difference(difference) => *difference,
        }
    }
}

/// One metric of one pair of cells.
#[derive(Clone, Debug)]
pub struct Change {
    /// The metric.
    pub metric: &'static Metric,
    /// Medians of the old and the new runs; absent where a side has no value.
    pub medians: (Option<f64>, Option<f64>),
    /// Runs of the old and the new side that have the metric.
    pub runs: (usize, usize),
    /// By how much the metric changed; absent where a side has no value.
    pub shift: Option<Shift>,
    /// What the change of the CPUs' speed explains in addition to the shift, in per cent; absent
    /// where the shift does not account for it.
    pub by_speed_pct: Option<f64>,
    /// Executions on each side that decide a change of the threshold; absent where they are enough,
    /// or it is not known.
    pub executions_needed: Option<usize>,
    /// Whether the change is estimated from the changes within blocks.
    pub is_paired: bool,
    /// The probability of a change at least this clear where there is none (two-sided p-value);
    /// absent where the runs do not decide it.
    pub chance: Option<f64>,
    /// The verdict on the change, among all changes of the comparison.
    pub verdict: Verdict,
}

impl Change {
    /// The unit of a difference, in words.
    pub fn unit(&self) -> &'static str {
        if self.metric.unit == "%" {
            "points"
        } else {
            self.metric.unit
        }
    }

    /// Sets the verdict on the shift, of these values of the old and the new side.
    fn judge(&mut self, (old, new): (&Values, &Values), pairing: Pairing, threshold_pct: f64) {
        let (Some(shift), Some(first)) = (self.shift, old.first()) else {
            return;
        };
        let medians = [self.medians.0, self.medians.1].into_iter().flatten();
        let larger = medians.map(f64::abs).fold(0.0, f64::max);
        let threshold = match shift {
            Shift::Ratio(_) => threshold_pct,
            Shift::Difference(_) => threshold_pct / 100.0 * larger,
        };
        let is_constant = old.iter().chain(new).all(|(_, value)| *value == first.1);
        self.verdict = match is_constant {
            true => Verdict::Same,
            false => Verdict::of(&shift.change(), self.metric.better, threshold),
        };
        if self.metric.unit == "%"
            && let Some((points, _)) = estimate(old, new, pairing, Scale::Difference)
        {
            self.verdict = of_share(self.verdict, points.interval);
        }
    }

    /// The change without a verdict on it, because the sides were measured in different states.
    pub(super) fn not_comparable(mut self) -> Change {
        self.verdict = Verdict::NotComparable;
        (self.chance, self.executions_needed) = (None, None);
        self
    }

    /// Replaces the shift by that of executions, each of which differs from the others.
    pub(super) fn of_executions(
        &mut self,
        effect: &Effect,
        (old, new): (&Values, &Values),
        threshold_pct: f64,
    ) {
        self.shift = Some(Shift::Ratio(effect.estimate.interval));
        self.by_speed_pct = Some(pct(effect.explained));
        self.chance = effect.estimate.chance;
        self.verdict = Verdict::CannotTell;
        self.judge((old, new), Pairing::Apart, threshold_pct);
        if self.verdict == Verdict::CannotTell {
            self.executions_needed = effect.executions_for(threshold_pct / 100.0);
        }
    }
}

/// The values of one side with their blocks.
pub(super) type Values = [(u32, f64)];

/// The change of one metric; absent where no side has a value.
pub(super) fn change(
    old: &[&RunRow],
    new: &[&RunRow],
    metric: &'static Metric,
    pairing: Pairing,
    threshold_pct: f64,
) -> Option<Change> {
    let [old, new] = &regime::of_one_regime([old, new], metric);
    let (old, new) = match pairing {
        Pairing::Duet => pairs_of_one_state(old, new),
        Pairing::Blocks | Pairing::Apart => (used(old), used(new)),
    };
    change_of_values(
        (&values(&old, metric), &values(&new, metric)),
        metric,
        pairing,
        threshold_pct,
    )
}

/// The change from one set of values with their blocks to another.
pub(super) fn change_of_values(
    (old, new): (&Values, &Values),
    metric: &'static Metric,
    pairing: Pairing,
    threshold_pct: f64,
) -> Option<Change> {
    let medians = (
        bitcost_stats::median(&numbers(old)),
        bitcost_stats::median(&numbers(new)),
    );
    let runs = (old.len(), new.len());
    let mut change = Change {
        metric,
        medians,
        runs,
        shift: None,
        by_speed_pct: None,
        executions_needed: None,
        is_paired: false,
        chance: None,
        verdict: Verdict::CannotTell,
    };
    match medians {
        (None, None) => return None,
        (None, Some(_)) => return Some(change),
        (Some(_), None) => {
            return Some(Change {
                verdict: Verdict::Missing,
                ..change
            });
        }
        (Some(_), Some(_)) => {}
    }
    let Some((shift, chance, is_paired)) = shift(old, new, pairing) else {
        return Some(change);
    };
    (change.shift, change.is_paired) = (Some(shift), is_paired);
    if runs.0.min(runs.1) < RUNS {
        return Some(change);
    }
    change.chance = chance;
    change.judge((old, new), pairing, threshold_pct);
    Some(change)
}

/// The verdict on a share: a change that is large only in relation to a small share counts as none.
fn of_share(verdict: Verdict, points: Interval) -> Verdict {
    let is_small = points.value.abs() < SHARE_POINTS;
    match verdict {
        _ if is_small && Verdict::of(&points, Better::Neither, SHARE_POINTS) == Verdict::Same => {
            Verdict::Same
        }
        Verdict::Better | Verdict::Worse | Verdict::Changed if is_small => Verdict::CannotTell,
        verdict => verdict,
    }
}

/// The change, its chance, and whether both are estimated from pairs.
fn shift(old: &Values, new: &Values, pairing: Pairing) -> Option<(Shift, Option<f64>, bool)> {
    let on = |scale, shift: fn(Interval) -> Shift| {
        let (found, is_paired) = estimate(old, new, pairing, scale)?;
        Some((shift(found.interval), found.chance, is_paired))
    };
    on(Scale::Ratio, Shift::Ratio).or_else(|| on(Scale::Difference, Shift::Difference))
}

/// The change, and whether it is estimated from pairs.
fn estimate(
    old: &Values,
    new: &Values,
    pairing: Pairing,
    scale: Scale,
) -> Option<(Estimate, bool)> {
    let (all_old, all_new) = (numbers(old), numbers(new));
    // If not all values can be put on the scale, pairs of them cannot either.
    let of_pairs = match pairing {
        _ if !is_whole(&all_old, &all_new, scale) => None,
        Pairing::Blocks => Some(bitcost_stats::paired_change as fn(&[_], _) -> _),
        Pairing::Duet => Some(bitcost_stats::duet_change as _),
        Pairing::Apart => None,
    };
    let paired = of_pairs.and_then(|of| of(&by_block(old, new), scale));
    let apart =
        || bitcost_stats::change(&all_old, &all_new, scale).map(|estimate| (estimate, false));
    paired.map(|estimate| (estimate, true)).or_else(apart)
}

/// Old and new value of each pair of runs that were made one after the other in one state of the machine.
pub(super) fn duet_values(
    old: &[&RunRow],
    new: &[&RunRow],
    metric: &'static Metric,
) -> Vec<(f64, f64)> {
    let [old, new] = &regime::of_one_regime([old, new], metric);
    let (old, new) = pairs_of_one_state(old, new);
    by_block(&values(&old, metric), &values(&new, metric))
}

fn values(rows: &[&RunRow], metric: &'static Metric) -> Vec<(u32, f64)> {
    let rows = rows.iter();
    rows.filter_map(|row| Some((row.block, row.value(metric)?)))
        .collect()
}

fn is_whole(old: &[f64], new: &[f64], scale: Scale) -> bool {
    scale == Scale::Difference || old.iter().chain(new).all(|value| *value > 0.0)
}

fn numbers(side: &Values) -> Vec<f64> {
    side.iter().map(|(_, value)| *value).collect()
}

/// Old and new value of each block that has both; the median where a side has several runs in a
/// block.
fn by_block(old: &Values, new: &Values) -> Vec<(f64, f64)> {
    let mut blocks: BTreeMap<u32, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    old.iter()
        .for_each(|(block, value)| blocks.entry(*block).or_default().0.push(*value));
    new.iter()
        .for_each(|(block, value)| blocks.entry(*block).or_default().1.push(*value));
    blocks
        .values()
        .filter_map(|(old, new)| Some((bitcost_stats::median(old)?, bitcost_stats::median(new)?)))
        .collect()
}
