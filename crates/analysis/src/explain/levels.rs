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
        let all: Vec<usize> = (0..intervals(run)).collect();
        let rates = Series::of(run.receiver, &all).rates();
        let signals = |part: &[usize]| {
            let mut part = part.to_vec();
            part.sort_unstable();
            (
                part.len() as f64 / rates.len() as f64,
                Signals::of(run, &part),
            )
        };
        if let Some(modes) = two_modes(&rates, 0)
            && are_apart(&rates, &modes.low, &modes.high)
            && changes(&modes.low, rates.len()) <= CHANGES_MAX
        {
            return Some(Levels::Modes([signals(&modes.low), signals(&modes.high)]));
        }
        let moment = change(&rates)?;
        let (before, after) = all.split_at(moment);
        Some(Levels::Change([signals(before), signals(after)]))
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

/// True where each part is long enough to be named, and one rate is far above the other.
fn are_apart(rates: &[f64], one: &[usize], other: &[usize]) -> bool {
    let mean = |part: &[usize]| {
        part.iter().map(|index| rates[*index]).sum::<f64>() / part.len().max(1) as f64
    };
    let (slow, fast) = (mean(one).min(mean(other)), mean(one).max(mean(other)));
    let share = one.len().min(other.len()) as f64 / rates.len() as f64;
    fast >= STEADY * slow && share >= SECOND_SHARE
}

/// The number of intervals before the one moment at which the rate changes: that with the widest
/// gap between the parts. Absent where every division leaves rates that overlap.
fn change(rates: &[f64]) -> Option<usize> {
    let all: Vec<usize> = (0..rates.len()).collect();
    let gap = |moment: usize| {
        let (before, after) = rates.split_at(moment);
        (least(before) - most(after)).max(least(after) - most(before))
    };
    (1..rates.len())
        .filter(|moment| {
            let (before, after) = all.split_at(*moment);
            are_apart(rates, before, after) && gap(*moment) > 0.0
        })
        .max_by(|a, b| gap(*a).total_cmp(&gap(*b)))
}

fn least(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(f64::NEG_INFINITY, f64::max)
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
