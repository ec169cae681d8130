//! One metric of two sets of runs: by how much it changed, and the verdict on the change.

use std::collections::BTreeMap;

use bitcost_stats::{Error, Estimate, Interval, Scale, Sides, change_of_two, median};
use serde::Serialize;

use super::verdict::Verdict;
use crate::cells::RunRow;
use crate::metrics::{Better, CORE_TO_CORE, Metric, SPEED, metric};

/// A change of a share by fewer percentage points than this counts as none: a loss of 0.01 % that
/// doubles is nothing that anybody notices.
const SHARE_POINTS: f64 = 0.1;

/// By how much a metric changed, with a 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
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
            Shift::Ratio(ratio) => ratio.map(|ratio| 100.0 * (ratio - 1.0)),
            Shift::Difference(difference) => *difference,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Change {
    pub metric: &'static Metric,
    /// Medians of the old and the new blocks; absent where a side has no value.
    pub old_median: Option<f64>,
    pub new_median: Option<f64>,
    /// Blocks of the old and the new side that have the metric.
    pub old_blocks: usize,
    pub new_blocks: usize,
    /// Absent where a side has no value.
    #[serde(flatten)]
    pub shift: Option<Shift>,
    /// Whether the change is estimated from the changes within blocks.
    #[serde(rename = "paired")]
    pub is_paired: bool,
    /// Whether it is that at an equal distance and speed of the endpoints' CPUs.
    #[serde(rename = "adjusted")]
    pub is_adjusted: bool,
    /// The probability of a change at least this clear where there is none (two-sided p-value);
    /// absent where the blocks do not decide it.
    pub chance: Option<f64>,
    pub verdict: Verdict,
}

impl Change {
    pub fn unit(&self) -> &'static str {
        match self.metric.unit {
            "%" => "points",
            unit => unit,
        }
    }

    fn judge(&mut self, measured: &Measured, threshold_pct: f64) {
        let Some(shift) = self.shift else { return };
        let medians = [self.old_median, self.new_median].into_iter().flatten();
        let larger = medians.map(f64::abs).fold(0.0, f64::max);
        let threshold = match shift {
            Shift::Ratio(_) => threshold_pct,
            Shift::Difference(_) => threshold_pct / 100.0 * larger,
        };
        self.verdict = Verdict::of(&shift.change(), self.metric.better, threshold);
        if self.metric.unit == "%"
            && let Some((points, _)) = measured.change(Scale::Difference)
        {
            self.verdict = of_share(self.verdict, points.interval);
        }
    }
}

/// The value of each block of each execution of a side: the median of its used runs.
type Values = BTreeMap<(usize, u32), f64>;

/// The used runs of a cell in each execution of a side.
pub(super) type Runs<'a> = Vec<Vec<&'a RunRow>>;

/// The runs of a cell on both sides.
pub(super) struct Pair<'a> {
    pub old: Runs<'a>,
    pub new: Runs<'a>,
    /// Whether they were made in the same blocks.
    pub same_blocks: bool,
    /// Whether both sides had the same CPUs to use, at the same governor, so that the distance of the endpoints' CPUs and the
    /// speed of these are no part of what is compared.
    pub same_cpus: bool,
}

/// The values of both sides, and what varied of the machine beside them.
struct Measured {
    old: Values,
    new: Values,
    same_blocks: bool,
    machine: Vec<[Vec<f64>; 2]>,
    /// The change where each side is a single run.
    of_runs: Option<Estimate>,
}

impl Measured {
    fn of(pair: &Pair, judged: &'static Metric) -> Measured {
        let sides = [&pair.old, &pair.new];
        let [old, new] = sides.map(|side| values(side, judged));
        let beside = |name: &&str| {
            let metric = metric(name)?;
            let [was, is] = sides.map(|side| values(side, metric));
            let is_whole = was.keys().eq(old.keys()) && is.keys().eq(new.keys());
            is_whole.then(|| [numbers(&was), numbers(&is)])
        };
        let machine = [CORE_TO_CORE, SPEED];
        let is_adjusted = pair.same_cpus && !machine.contains(&judged.name);
        let machine = machine.iter().filter(|_| is_adjusted);
        Measured {
            machine: machine.filter_map(beside).collect(),
            of_runs: of_runs(sides, judged),
            same_blocks: pair.same_blocks,
            old,
            new,
        }
    }

    /// The change, and whether it is estimated from pairs and adjusted; absent where a side has no value, or one is not on
    /// the scale.
    fn change(&self, scale: Scale) -> Option<(Estimate, [bool; 2])> {
        if let Some(found) = self.of_runs.filter(|_| scale == Scale::Ratio) {
            return Some((found, [false, false]));
        }
        let sides = Sides::of(&numbers(&self.old), &numbers(&self.new), scale)?;
        let sides = sides.at_equal(self.machine.clone());
        let old = self.old.keys().enumerate().filter(|_| self.same_blocks);
        let place = |block| self.new.keys().position(|other| other == block);
        let pairs = old.filter_map(|(old, block)| Some((old, place(block)?)));
        let paired = sides.paired_change(&pairs.collect::<Vec<_>>());
        let how = [paired.is_some(), sides.is_adjusted()];
        Some((paired.unwrap_or(sides.change()), how))
    }
}

/// The change from one run to another, by what varied within each and what varies between runs; absent where a side is no
/// single run, or does not show it.
fn of_runs([old, new]: [&Runs; 2], metric: &Metric) -> Option<Estimate> {
    let single = |side: &[Vec<&RunRow>]| {
        let [runs] = side else { return None };
        let [run] = &runs[..] else { return None };
        run.singles.get(metric.name).copied()
    };
    let (old, new) = (single(old)?, single(new)?);
    // Both are of one estimate.
    let between = Error {
        error: old.between.error.hypot(new.between.error),
        ..old.between
    };
    let error = Error::of(&[old.within, new.within, between]);
    Some(change_of_two(old.value, new.value, error))
}

/// The change of one metric, from the runs of the cell in each execution of the old side to those of the
/// new side; absent where no side has a value.
pub(super) fn change_of(
    pair: &Pair,
    metric: &'static Metric,
    threshold_pct: f64,
) -> Option<Change> {
    let measured = Measured::of(pair, metric);
    let (old, new) = (&measured.old, &measured.new);
    let medians = (median(&numbers(old)), median(&numbers(new)));
    let mut change = Change {
        metric,
        old_median: medians.0,
        new_median: medians.1,
        old_blocks: old.len(),
        new_blocks: new.len(),
        shift: None,
        is_paired: false,
        is_adjusted: false,
        chance: None,
        verdict: Verdict::CannotTell,
    };
    match medians {
        (None, None) => return None,
        (Some(_), None) => change.verdict = Verdict::Missing,
        (None, Some(_)) => change.verdict = Verdict::New,
        _ => {}
    }
    let on = |scale, shift: fn(Interval) -> Shift| Some((measured.change(scale)?, shift));
    let difference = || on(Scale::Difference, Shift::Difference);
    if let Some(((found, how), shift)) = on(Scale::Ratio, Shift::Ratio).or_else(difference) {
        change.chance = found.chance;
        [change.is_paired, change.is_adjusted] = how;
        change.shift = Some(shift(found.interval));
        change.judge(&measured, threshold_pct);
    }
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

fn values(executions: &[Vec<&RunRow>], metric: &'static Metric) -> Values {
    let mut blocks: BTreeMap<(usize, u32), Vec<f64>> = BTreeMap::new();
    for (execution, rows) in executions.iter().enumerate() {
        for row in rows {
            let values = blocks.entry((execution, row.block)).or_default();
            values.extend(row.value(metric));
        }
    }
    let of_block = |(block, values): ((usize, u32), Vec<f64>)| Some((block, median(&values)?));
    blocks.into_iter().filter_map(of_block).collect()
}

fn numbers(side: &Values) -> Vec<f64> {
    side.values().copied().collect()
}
