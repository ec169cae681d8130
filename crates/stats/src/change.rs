//! By how much one set of values differs from another: the Hodges–Lehmann shift of their logarithms, with an interval by ranks.
//!
//! The interval is that of the rank tests of Wilcoxon (Lehmann, "Nonparametrics", chapters 2 and 4), which hold for noise of every
//! shape: two modes, outliers. Of few values ranks bound a shift poorly; there it is Student's about the shift.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::bootstrap::Interval;
use crate::quantile::quantile_in_place;

/// How often an interval may miss what it is of.
const MISSES: f64 = 0.05;

/// With more values on a side only so many, evenly chosen by rank, stand for them: the shift needs every pair.
const MOST: usize = 200;

/// From this many values on a side on, ranks bound the shift about as well as Student's interval does in steady noise.
const RANKS_FROM: usize = 8;

/// From this correlation of both sides on, what blocks do to both is taken off by pairing. Below it pairing would cost more
/// than it takes off: half of what is known of the spread.
const TOGETHER: f64 = 0.8;

/// The ratio new ÷ old where both were measured in the same blocks: `pairs` holds old and new of each block.
///
/// Where both rise and fall together from block to block it is of the blocks' ratios, else as [`change`]. Absent where there
/// are no pairs or a value is not above 0; without bounds where there is one pair only.
pub fn paired_change(pairs: &[(f64, f64)]) -> Option<Interval> {
    let (old, new): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (log_old, log_new) = (logs(&old)?, logs(&new)?);
    if correlation(&log_old, &log_new) <= TOGETHER {
        return change(&old, &new);
    }
    let differences = thinned(log_old.iter().zip(&log_new).map(|(old, new)| new - old).collect());
    let mut means = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (place, a) in differences.iter().enumerate() {
        means.extend(differences[place..].iter().map(|b| (a + b) / 2.0));
    }
    let count = differences.len();
    let rank = rank_within(&signed_ranks(count), 2_f64.powi(count as i32));
    interval(means, rank, || student(squares(&differences), count - 1, 1.0 / count as f64))
}

/// The ratio new ÷ old where each was measured by itself: the middle of the ratios of every new value to every old one.
///
/// Absent where a side is empty or a value is not above 0; without bounds where a side has one value only.
pub fn change(old: &[f64], new: &[f64]) -> Option<Interval> {
    let (old, new) = (thinned(logs(old)?), thinned(logs(new)?));
    let differences = old.iter().flat_map(|a| new.iter().map(move |b| b - a)).collect();
    if old.len() == 1 || new.len() == 1 {
        return interval(differences, None, || None);
    }
    let (count_old, count_new) = (old.len() as f64, new.len() as f64);
    let ways = (1..=old.len()).map(|i| (count_new + i as f64) / i as f64).product();
    let rank = rank_within(&rank_sums(old.len(), new.len()), ways).filter(|_| old.len().min(new.len()) >= RANKS_FROM);
    let freedom = old.len() + new.len() - 2;
    let per_value = 1.0 / count_old + 1.0 / count_new;
    interval(differences, rank, || student(squares(&old) + squares(&new), freedom, per_value))
}

/// The middle of the shifts, between those of this rank from below and from above; where there is no rank, as far to both sides as
/// `otherwise` says.
fn interval(mut shifts: Vec<f64>, rank: Option<usize>, otherwise: impl FnOnce() -> Option<f64>) -> Option<Interval> {
    shifts.sort_by(f64::total_cmp);
    let ranked = rank.map(|rank| (shifts[rank], shifts[shifts.len() - 1 - rank]));
    let value = quantile_in_place(&mut shifts, 0.5)?;
    let bounds = ranked.or_else(|| otherwise().map(|reach| (value - reach, value + reach)));
    let (low, high) = bounds.unzip();
    Some(Interval { value: value.exp(), low: low.map(f64::exp), high: high.map(f64::exp) })
}

/// Half of Student's interval of a mean with these squares about it; absent without a degree of freedom.
fn student(squares: f64, freedom: usize, per_value: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom as f64).ok()?;
    Some(distribution.inverse_cdf(1.0 - MISSES / 2.0) * (squares / freedom as f64 * per_value).sqrt())
}

/// In how many of the ways to mix two sides the sum of pairs in which the one is smaller is 0, 1, 2 …, up to half of all
/// (Mann and Whitney 1947): coefficients of the Gaussian binomial.
fn rank_sums(a: usize, b: usize) -> Vec<f64> {
    let mut ways = vec![0.0; a * b / 2 + 1];
    ways[0] = 1.0;
    for i in 1..=a {
        for place in (b + i..ways.len()).rev() {
            ways[place] -= ways[place - b - i];
        }
        for place in i..ways.len() {
            ways[place] += ways[place - i];
        }
    }
    ways
}

/// In how many of the ways to give signs to the ranks 1 … `count` the ranks of one sign add up to 0, 1, 2 …, up to half of all
/// (Wilcoxon 1945).
fn signed_ranks(count: usize) -> Vec<f64> {
    let mut ways = vec![0.0; count * (count + 1) / 4 + 1];
    ways[0] = 1.0;
    for rank in 1..=count {
        for place in (rank..ways.len()).rev() {
            ways[place] += ways[place - rank];
        }
    }
    ways
}

/// The greatest rank that may be left out on both sides; absent where even the whole range misses too often.
fn rank_within(ways: &[f64], all: f64) -> Option<usize> {
    let mut so_far = 0.0;
    let misses = ways.iter().take_while(|ways| {
        so_far += **ways;
        2.0 * so_far / all <= MISSES
    });
    misses.count().checked_sub(1)
}

/// The values' logarithms; absent where there are none or one is not above 0.
fn logs(values: &[f64]) -> Option<Vec<f64>> {
    let log = |value: &f64| (value.is_finite() && *value > 0.0).then(|| value.ln());
    values.iter().map(log).collect::<Option<Vec<f64>>>().filter(|logs| !logs.is_empty())
}

/// The values in order, at most [`MOST`] of them.
fn thinned(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    if values.len() <= MOST {
        return values;
    }
    (0..MOST).map(|place| values[place * (values.len() - 1) / (MOST - 1)]).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Pearson's; 0 where a side does not vary.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let common: f64 = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    let both = (squares(a) * squares(b)).sqrt();
    if both > 0.0 { common / both } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        let of_two = |a, b| {
            let ways = (1..=a).map(|i| (b + i) as f64 / i as f64).product();
            rank_within(&rank_sums(a, b), ways)
        };
        // Two-sided 5 % of Mann and Whitney's U.
        assert_eq!(
            [(3, 3), (4, 4), (5, 5), (5, 8), (10, 10), (20, 20)].map(|(a, b)| of_two(a, b)),
            [None, Some(0), Some(2), Some(6), Some(23), Some(127)]
        );
        // Two-sided 5 % of Wilcoxon's signed ranks.
        let of_pairs = |count: usize| rank_within(&signed_ranks(count), 2_f64.powi(count as i32));
        assert_eq!([5, 6, 8, 10, 20].map(of_pairs), [None, Some(0), Some(3), Some(8), Some(52)]);
    }

    #[test]
    fn what_blocks_have_in_common_cancels() {
        let pairs: Vec<(f64, f64)> = (1..8).map(|block| (f64::from(block), f64::from(block) * 1.05)).collect();
        for pairs in [&pairs[..], &pairs[..4]] {
            let found = paired_change(pairs).unwrap();
            for value in [Some(found.value), found.low, found.high] {
                assert!((value.unwrap() - 1.05).abs() < 1e-9, "{found:?}");
            }
        }
        let (old, new): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let apart = change(&old, &new).unwrap();
        assert!(apart.low.unwrap() < 0.9 && apart.high.unwrap() > 1.1, "{apart:?}");
    }

    #[test]
    fn one_disturbed_run_moves_it_little() {
        let old = [1.00, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99];
        let mut new = old.map(|value| value * 1.1);
        new[4] = 0.2;
        let found = change(&old, &new).unwrap();
        assert!((found.value - 1.1).abs() < 0.02 && found.low.unwrap() > 1.0, "{found:?}");
    }

    #[test]
    fn few_values_bound_it_by_student() {
        // Means 0 and ln 2, squares 2 s² with s = 0.01, two degrees of freedom: ± 4.303 × 0.01.
        let (old, new) = ([0.99_f64.ln(), -(0.99_f64.ln())].map(f64::exp), [2.0, 2.0]);
        let found = change(&old, &new).unwrap();
        let spread = (2.0 * 0.99_f64.ln().powi(2) / 2.0).sqrt();
        assert!((found.high.unwrap() / 2.0 - (4.302_65 * spread).exp()).abs() < 1e-5, "{found:?}");
        assert!((found.value - 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_has_no_ratio_has_none() {
        assert_eq!(paired_change(&[]), None);
        assert_eq!(paired_change(&[(0.0, 1.0)]), None);
        assert_eq!(change(&[1.0], &[]), None);
        assert_eq!(change(&[1.0], &[f64::INFINITY]), None);
        assert_eq!(change(&[2.0], &[4.0, 4.0]).unwrap(), Interval { value: 2.0, low: None, high: None });
        assert_eq!(paired_change(&[(2.0, 4.0)]).unwrap(), Interval { value: 2.0, low: None, high: None });
        let many: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert!((change(&many, &many).unwrap().value - 1.0).abs() < 1e-9);
    }
}
