//! Two levels of a run's rate that are far apart: each is judged separately.

use bitcost_stats::two_modes;

use crate::explain::bounds::{SECOND_SHARE, STEADY};
use crate::explain::series::Series;
use crate::explain::signals::{Signals, intervals};
use crate::metrics::RunView;

/// How often a rate may go from one level to the other.
const CHANGES_MAX: usize = 4;

/// The signals of both levels, each with its share of the run's time.
#[derive(Clone, Debug)]
pub enum Levels {
    /// The rates of the intervals have two modes, in any order.
    Modes([(f64, Signals); 2]),
    /// All intervals before a moment are faster than all after it, or all are slower. The rates
    /// within a part may vary more than two modes allow.
    Change([(f64, Signals); 2]),
}

impl Levels {
    /// The levels of a run's rate; absent where it has one.
    pub fn of(run: &RunView) -> Option<Levels> {
        let (is_change, parts) = split(run)?;
        let all: usize = parts.iter().map(Vec::len).sum();
        let signals = |part: Vec<usize>| (part.len() as f64 / all as f64, Signals::of(run, &part));
        let parts = parts.map(signals);
        Some(match is_change {
            true => Levels::Change(parts),
            false => Levels::Modes(parts),
        })
    }

    /// The same with other signals.
    pub fn map(self, with: impl Fn(Signals) -> Signals) -> Levels {
        let parts = |parts: [(f64, Signals); 2]| parts.map(|(share, of)| (share, with(of)));
        match self {
            Levels::Modes(both) => Levels::Modes(parts(both)),
            Levels::Change(both) => Levels::Change(parts(both)),
        }
    }
}

/// The intervals of both levels of a run's rate, in order, and whether one level follows the other;
/// absent where the rate has one level.
pub fn split(run: &RunView) -> Option<(bool, [Vec<usize>; 2])> {
    let all: Vec<usize> = (0..intervals(run)).collect();
    let rates = Series::of(run.receiver, &all).rates();
    if let Some(mut modes) = two_modes(&rates)
        && are_apart(
            (modes.low.len(), modes.low_mean),
            (modes.high.len(), modes.high_mean),
        )
        && changes(&modes.low, rates.len()) <= CHANGES_MAX
    {
        modes.low.sort_unstable();
        modes.high.sort_unstable();
        return Some((false, [modes.low, modes.high]));
    }
    let (before, after) = all.split_at(change(&rates)?);
    Some((true, [before.to_vec(), after.to_vec()]))
}

/// True where each part, given by its number of intervals and mean rate, is long enough to be named,
/// and one rate is far above the other.
fn are_apart(one: (usize, f64), other: (usize, f64)) -> bool {
    let (slow, fast) = (one.1.min(other.1), one.1.max(other.1));
    let share = one.0.min(other.0) as f64 / (one.0 + other.0) as f64;
    fast >= STEADY * slow && share >= SECOND_SHARE
}

/// The number of intervals before the one moment at which the rate changes: that with the widest
/// gap between the parts. Absent where every division leaves rates that overlap.
fn change(rates: &[f64]) -> Option<usize> {
    let before = growing(rates.iter());
    let after = growing(rates.iter().rev());
    let gap = |moment: &usize| {
        let (one, other) = (before[moment - 1], after[rates.len() - moment - 1]);
        let gap = (one.least - other.most).max(other.least - one.most);
        (gap > 0.0 && are_apart(one.weight(), other.weight())).then_some(gap)
    };
    (1..rates.len())
        .filter_map(|moment| Some((moment, gap(&moment)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(moment, _)| moment)
}

/// What is known of the rates of a part of the intervals.
#[derive(Clone, Copy)]
struct Part {
    count: usize,
    sum: f64,
    least: f64,
    most: f64,
}

impl Part {
    const EMPTY: Part = Part {
        count: 0,
        sum: 0.0,
        least: f64::INFINITY,
        most: f64::NEG_INFINITY,
    };

    fn with(self, rate: f64) -> Part {
        Part {
            count: self.count + 1,
            sum: self.sum + rate,
            least: self.least.min(rate),
            most: self.most.max(rate),
        }
    }

    /// Its number of intervals and its mean.
    fn weight(self) -> (usize, f64) {
        (self.count, self.sum / self.count as f64)
    }
}

/// The part of the first rate, of the first two, and so on.
fn growing<'a>(rates: impl Iterator<Item = &'a f64>) -> Vec<Part> {
    let grow = |part: &mut Part, rate: &f64| {
        *part = part.with(*rate);
        Some(*part)
    };
    rates.scan(Part::EMPTY, grow).collect()
}

/// How often a run goes from one level to the other.
fn changes(low: &[usize], count: usize) -> usize {
    let is_low = |index: &usize| low.contains(index);
    (1..count)
        .filter(|index| is_low(index) != is_low(&(index - 1)))
        .count()
}

#[cfg(test)]
mod tests {
    use super::change;

    #[test]
    fn one_change_is_found_where_rates_of_a_part_vary() {
        let rates = [
            245.0, 200.0, 284.0, 362.0, 288.0, 296.0, 195.0, 99.0, 101.0, 101.0, 101.0, 99.0,
        ];
        assert_eq!(change(&rates), Some(7));
        let rising: Vec<f64> = rates.iter().rev().copied().collect();
        assert_eq!(change(&rising), Some(5));
    }

    #[test]
    fn no_change_where_rates_overlap_are_near_or_one_part_is_short() {
        for rates in [
            &[200.0, 90.0, 210.0, 205.0, 100.0, 220.0, 95.0, 99.0][..],
            &[140.0, 141.0, 139.0, 142.0, 100.0, 101.0, 99.0, 100.0],
            &[
                300.0, 100.0, 101.0, 99.0, 100.0, 98.0, 102.0, 100.0, 99.0, 100.0,
            ],
            &[],
        ] {
            assert_eq!(change(rates), None, "{rates:?}");
        }
    }
}
