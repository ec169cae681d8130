//! Whether values have two modes.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::spread::{mean, squares};

/// Samples of a normal distribution that the values are compared with.
const COMPARED: usize = 1000;

/// Least number of values for which modes can be determined.
const MODES_FROM: usize = 6;

/// Least number of values of a mode: a single distant value is an outlier.
const MODE_MIN: usize = 2;

/// Two modes are separate from this distance of their means on, in standard deviations within the modes (Ashman et al.
/// 1994 require 2; halves of a uniform distribution have 3.5, halves of a normal one 2.7).
const SEPARATION_MIN: f64 = 4.0;

/// The highest probability at which the same number of normal values may look as divided.
const CHANCE_MAX: f64 = 0.01;

/// Values in two modes.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoModes {
    /// Which values are in the lower mode.
    pub low: Vec<usize>,
    /// Which are in the higher.
    pub high: Vec<usize>,
    /// Mean of the lower mode.
    pub low_mean: f64,
    /// Mean of the higher.
    pub high_mean: f64,
}

/// The values' two modes; absent where they have one, where there are too few values, or one is not a number.
pub fn two_modes(values: &[f64]) -> Option<TwoModes> {
    if values.len() < MODES_FROM || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let sorted: Vec<f64> = order.iter().map(|index| values[*index]).collect();
    let (cut, share) = best_cut(&sorted)?;
    let (low, high) = sorted.split_at(cut);
    let (low_mean, high_mean) = (mean(low), mean(high));
    let within = ((squares(low) + squares(high)) / (sorted.len() - 2) as f64).sqrt();
    let separation = (high_mean - low_mean) / within.max(f64::MIN_POSITIVE);
    // Computed last, because it takes a thousand samples.
    if separation <= SEPARATION_MIN {
        return None;
    }
    let chance = chance(sorted.len(), share);
    let (low, high) = (order[..cut].to_vec(), order[cut..].to_vec());
    (chance < CHANCE_MAX).then_some(TwoModes {
        low,
        high,
        low_mean,
        high_mean,
    })
}

/// The cut of sorted values with the least spread within both sides, and the share of the spread between the sides.
///
/// Of `n` values on one side with the sum `s` of distances from the mean of all, `s² ÷ n` of the spread lies between the sides
/// (analysis of variance): running sums give every share in one pass.
fn best_cut(sorted: &[f64]) -> Option<(usize, f64)> {
    let (all, middle) = (squares(sorted), mean(sorted));
    if all <= 0.0 {
        return None;
    }
    let count = sorted.len() as f64;
    let mut below = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for (place, value) in sorted.iter().enumerate() {
        below += value - middle;
        let cut = place + 1;
        if !(MODE_MIN..=sorted.len() - MODE_MIN).contains(&cut) {
            continue;
        }
        let share = below * below * (1.0 / cut as f64 + 1.0 / (count - cut as f64)) / all;
        if best.is_none_or(|(_, known)| share >= known) {
            best = Some((cut, share));
        }
    }
    best
}

/// Probability that the same number of normal values have a cut with as large a share between its sides.
fn chance(count: usize, share: f64) -> f64 {
    let mut generator = ChaCha8Rng::seed_from_u64(0);
    let as_large = |generator: &mut ChaCha8Rng| {
        let mut sample: Vec<f64> = (0..count).map(|_| normal(generator)).collect();
        sample.sort_by(f64::total_cmp);
        best_cut(&sample).is_some_and(|(_, found)| found >= share)
    };
    (0..COMPARED).filter(|_| as_large(&mut generator)).count() as f64 / COMPARED as f64
}

/// A value of the standard normal distribution (Box and Muller 1958).
fn normal(generator: &mut ChaCha8Rng) -> f64 {
    let mut unit = || (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let (radius, angle) = (
        (-2.0 * (1.0 - unit()).ln()).sqrt(),
        std::f64::consts::TAU * unit(),
    );
    radius * angle.cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_modes_are_found_in_two_clusters() {
        let values = [21.1, 24.7, 24.8, 24.7, 21.0, 24.4, 21.0, 24.6, 20.9, 24.8];
        let modes = two_modes(&values).expect("two modes");
        assert_eq!(
            modes
                .low
                .iter()
                .copied()
                .collect::<std::collections::BTreeSet<_>>(),
            [0, 4, 6, 8].into()
        );
    }

    #[test]
    fn best_cut_minimizes_spread_within_sides() {
        let mut generator = ChaCha8Rng::seed_from_u64(9);
        for count in [6, 7, 50] {
            let mut values: Vec<f64> = (0..count).map(|_| 1e6 + normal(&mut generator)).collect();
            values.sort_by(f64::total_cmp);
            let share = |cut: &usize| {
                1.0 - (squares(&values[..*cut]) + squares(&values[*cut..])) / squares(&values)
            };
            let cut = (MODE_MIN..=count - MODE_MIN)
                .max_by(|a, b| share(a).total_cmp(&share(b)))
                .expect("a cut");
            let found = best_cut(&values).expect("a cut");
            assert_eq!(found.0, cut);
            assert!((found.1 - share(&cut)).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn two_modes_absent_for_one_cluster_outlier_and_slope() {
        let slope: Vec<f64> = (0..40).map(f64::from).collect();
        let outlier = [10.0, 10.1, 9.9, 10.05, 9.95, 10.0, 30.0];
        let mut generator = ChaCha8Rng::seed_from_u64(5);
        let heap: Vec<f64> = (0..30).map(|_| 10.0 + normal(&mut generator)).collect();
        for values in [
            &slope[..],
            &outlier,
            &heap,
            &[1.0; 8],
            &[1.0, 9.0, 1.0, 9.0],
        ] {
            assert_eq!(two_modes(values), None, "{values:?}");
        }
    }
}
