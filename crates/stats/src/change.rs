//! By how much one set of values differs from another: the Hodges–Lehmann shift of their logarithms, with its bootstrap interval.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::bootstrap::{Interval, RESAMPLES, below};
use crate::quantile::quantile_in_place;

/// With more values on a side only so many, evenly chosen by rank, stand for them: the shift needs every pair.
const MOST: usize = 60;

/// The ratio new ÷ old where both were measured in the same blocks: `pairs` holds old and new of each block.
///
/// The middle of all means of two blocks' log ratios (a block with itself too), so that one disturbed block moves it little.
/// Blocks are drawn again as a whole. Absent where there are no pairs or a value is not above 0; without bounds where there
/// is one pair only.
pub fn paired_change(pairs: &[(f64, f64)], seed: u64) -> Option<Interval> {
    let differences: Vec<f64> = pairs.iter().map(|(old, new)| (new / old).ln()).collect();
    if pairs.is_empty() || pairs.iter().any(|(old, new)| !is_usable(*old) || !is_usable(*new)) {
        return None;
    }
    let differences = thinned(differences);
    let value = walsh(&differences)?;
    if differences.len() == 1 {
        return Some(Interval { value: value.exp(), low: None, high: None });
    }
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = differences.clone();
    let resampled = (0..RESAMPLES).filter_map(|_| {
        draw.iter_mut().for_each(|slot| *slot = differences[below(&mut generator, differences.len())]);
        walsh(&draw)
    });
    Some(exponential(value, resampled.collect()))
}

/// The ratio new ÷ old where each was measured by itself.
///
/// The middle of the log ratios of every new value to every old one. Both sides are drawn again by themselves. Absent where a
/// side is empty or a value is not above 0; without bounds where a side has one value only.
pub fn change(old: &[f64], new: &[f64], seed: u64) -> Option<Interval> {
    if old.is_empty() || new.is_empty() || old.iter().chain(new).any(|value| !is_usable(*value)) {
        return None;
    }
    let logs = |side: &[f64]| thinned(side.iter().map(|value| value.ln()).collect());
    let (old, new) = (logs(old), logs(new));
    let value = shift(&old, &new)?;
    if old.len() == 1 || new.len() == 1 {
        return Some(Interval { value: value.exp(), low: None, high: None });
    }
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let (mut draw_old, mut draw_new) = (old.clone(), new.clone());
    let resampled = (0..RESAMPLES).filter_map(|_| {
        draw_old.iter_mut().for_each(|slot| *slot = old[below(&mut generator, old.len())]);
        draw_new.iter_mut().for_each(|slot| *slot = new[below(&mut generator, new.len())]);
        shift(&draw_old, &draw_new)
    });
    Some(exponential(value, resampled.collect()))
}

fn is_usable(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn exponential(value: f64, resampled: Vec<f64>) -> Interval {
    let Interval { value, low, high } = Interval::new(value, resampled);
    Interval { value: value.exp(), low: low.map(f64::exp), high: high.map(f64::exp) }
}

/// The values in order, at most [`MOST`] of them.
fn thinned(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    if values.len() <= MOST {
        return values;
    }
    (0..MOST).map(|place| values[place * (values.len() - 1) / (MOST - 1)]).collect()
}

/// The median of the means of all pairs of values, each with itself too.
fn walsh(values: &[f64]) -> Option<f64> {
    let mut means = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (place, a) in values.iter().enumerate() {
        means.extend(values[place..].iter().map(|b| (a + b) / 2.0));
    }
    quantile_in_place(&mut means, 0.5)
}

/// The median of the differences of all pairs across both sides.
fn shift(old: &[f64], new: &[f64]) -> Option<f64> {
    let mut differences: Vec<f64> = old.iter().flat_map(|a| new.iter().map(move |b| b - a)).collect();
    quantile_in_place(&mut differences, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_blocks_have_in_common_cancels() {
        let pairs: Vec<(f64, f64)> = (1..8).map(|block| (f64::from(block), f64::from(block) * 1.05)).collect();
        let found = paired_change(&pairs, 1).unwrap();
        for value in [Some(found.value), found.low, found.high] {
            assert!((value.unwrap() - 1.05).abs() < 1e-9, "{found:?}");
        }
        let (old, new): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let apart = change(&old, &new, 1).unwrap();
        assert!(apart.low.unwrap() < 0.9 && apart.high.unwrap() > 1.1, "{apart:?}");
    }

    #[test]
    fn one_disturbed_block_moves_it_little() {
        let pairs = [(1.0, 1.1), (1.0, 1.1), (1.0, 1.1), (1.0, 1.1), (1.0, 0.2)];
        assert!((paired_change(&pairs, 1).unwrap().value - 1.1).abs() < 1e-9);
    }

    #[test]
    fn what_has_no_ratio_has_none() {
        assert_eq!(paired_change(&[], 1), None);
        assert_eq!(paired_change(&[(0.0, 1.0)], 1), None);
        assert_eq!(change(&[1.0], &[], 1), None);
        assert_eq!(change(&[1.0], &[f64::INFINITY], 1), None);
        assert_eq!(change(&[2.0], &[4.0, 4.0], 1).unwrap(), Interval { value: 2.0, low: None, high: None });
        let many: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert!((change(&many, &many, 1).unwrap().value - 1.0).abs() < 1e-9);
    }
}
