//! Intervals by the percentile bootstrap (Efron and Tibshirani, "An Introduction to the Bootstrap", chapter 13).

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::quantile::quantile_in_place;

/// Number of resamples for one interval.
pub(crate) const RESAMPLES: usize = 2000;

/// With more values, the bounds of a median are order statistics, without resampling.
const MANY: usize = 100;

/// The same limit for a ratio. It is higher, because resampling whole blocks cancels block effects.
const MANY_PAIRED: usize = 1000;

/// An estimate and the bounds between which it lies with 95 % confidence.
#[derive(
    Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// Lower bound (2.5 %); absent where there is only one value.
    pub low: Option<f64>,
    /// Upper bound (97.5 %); absent together with `low`.
    pub high: Option<f64>,
}

impl Interval {
    /// An estimate without bounds.
    pub fn alone(value: f64) -> Interval {
        Interval {
            value,
            low: None,
            high: None,
        }
    }

    /// The interval of a monotonic function of the estimate.
    #[must_use]
    pub fn map(self, of: impl Fn(f64) -> f64) -> Interval {
        let (value, low, high) = (of(self.value), self.low.map(&of), self.high.map(&of));
        let is_falling = low.zip(high).is_some_and(|(low, high)| low > high);
        let [low, high] = if is_falling { [high, low] } else { [low, high] };
        Interval { value, low, high }
    }

    pub(crate) fn new(value: f64, mut resampled: Vec<f64>) -> Interval {
        let low = quantile_in_place(&mut resampled, 0.025);
        let high = quantile_in_place(&mut resampled, 0.975);
        Interval { value, low, high }
    }

    /// `1.69 [1.50, 1.80]`, with this many decimals; without brackets where there are no bounds.
    pub fn with_places(&self, places: usize) -> String {
        let value = format!("{:.places$}", self.value);
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{value} [{low:.places$}, {high:.places$}]"),
            _ => value,
        }
    }
}

/// The median with its 95 % bootstrap interval. It depends on the values and the seed, not on the order.
///
/// Absent where there are no values or one is not finite; without bounds where there is only one value.
pub fn median_interval(values: &[f64], seed: u64) -> Option<Interval> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.len() > MANY && sorted.iter().all(|value| value.is_finite()) {
        let value = quantile_in_place(&mut sorted.clone(), 0.5)?;
        return Some(by_order(value, &sorted));
    }
    let apart: Vec<(u32, f64)> = (0..).zip(sorted).collect();
    estimate_interval(&[&apart], seed, |medians| medians.first().copied())
}

/// The interval of a median by order statistics: the ranks n ÷ 2 ± 0.98 √n, to which the bounds of the bootstrap converge.
fn by_order(value: f64, sorted: &[f64]) -> Interval {
    let count = sorted.len() as f64;
    let reach = 0.98 * count.sqrt();
    let at = |rank: f64| sorted[(rank.round() as usize).min(sorted.len() - 1)];
    let middle = (count - 1.0) / 2.0;
    Interval {
        value,
        low: Some(at(middle - reach)),
        high: Some(at(middle + reach)),
    }
}

/// The interval of a ratio of two medians of many values: the logarithms of both intervals, added in quadrature. Block
/// effects do not cancel here, so that it is rather too wide.
fn by_both_orders(a: Side, b: Side) -> Option<Interval> {
    let side = |side: &[(u32, f64)]| {
        let mut values: Vec<f64> = side.iter().map(|(_, value)| *value).collect();
        values.sort_by(f64::total_cmp);
        let middle = quantile_in_place(&mut values.clone(), 0.5)?;
        let found = by_order(middle, &values);
        let (low, high) = (found.low.filter(|low| *low > 0.0)?, found.high?);
        Some((middle, (low / middle).ln(), (high / middle).ln()))
    };
    let ((above, a_low, a_high), (below, b_low, b_high)) = (side(a)?, side(b)?);
    let (down, up) = (a_low.hypot(b_high), a_high.hypot(b_low));
    let value = above / below;
    Some(Interval {
        value,
        low: Some(value * (-down).exp()),
        high: Some(value * up.exp()),
    })
}

/// The median of `a` over the median of `b`, with its 95 % bootstrap interval, as [`estimate_interval`] has it.
pub fn ratio_interval(a: Side, b: Side, seed: u64) -> Option<Interval> {
    let ratio = |medians: &[f64]| {
        let ratio = medians[0] / medians[1];
        ratio.is_finite().then_some(ratio)
    };
    match a.len().min(b.len()) > MANY_PAIRED {
        true => by_both_orders(a, b),
        false => estimate_interval(&[a, b], seed, ratio),
    }
}

/// Values, each with its block.
pub type Side<'a> = &'a [(u32, f64)];

/// A figure of the medians of several sides, with its 95 % percentile bootstrap interval. Each value comes with its block.
///
/// Whole blocks are resampled, so that the effect of a block on all of its values cancels. A block with values of some sides
/// contributes those; a resample that leaves a side without values is skipped. Absent where a side has no values, a value is
/// not finite, or the medians have no such figure; without bounds where a side has only one value, or all are of one block.
pub fn estimate_interval(
    sides: &[Side],
    seed: u64,
    figure: impl Fn(&[f64]) -> Option<f64>,
) -> Option<Interval> {
    let mut values = sides.iter().copied().flatten();
    if values.any(|(_, value)| !value.is_finite()) {
        return None;
    }
    let blocks = by_block(sides);
    let mut chosen: Vec<usize> = (0..blocks.len()).collect();
    let mut drawn = vec![Vec::new(); sides.len()];
    let mut of = |chosen: &[usize]| {
        let medians = drawn.iter_mut().enumerate().map(|(side, drawn)| {
            drawn.clear();
            let values = chosen.iter().flat_map(|block| &blocks[*block][side]);
            drawn.extend(values.copied());
            quantile_in_place(drawn, 0.5)
        });
        figure(&medians.collect::<Option<Vec<f64>>>()?)
    };
    let value = of(&chosen)?;
    if blocks.len() < 2 || sides.iter().any(|side| side.len() < 2) {
        return Some(Interval::alone(value));
    }
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let resampled = (0..RESAMPLES).filter_map(|_| {
        let slots = chosen.iter_mut();
        slots.for_each(|slot| *slot = below(&mut generator, blocks.len()));
        of(&chosen)
    });
    Some(Interval::new(value, resampled.collect()))
}

/// The values of each side in each block, in an order that does not depend on theirs.
fn by_block(sides: &[Side]) -> Vec<Vec<Vec<f64>>> {
    let mut blocks: BTreeMap<u32, Vec<Vec<f64>>> = BTreeMap::new();
    for (place, side) in sides.iter().enumerate() {
        for (block, value) in *side {
            let block = blocks.entry(*block);
            let block = block.or_insert_with(|| vec![Vec::new(); sides.len()]);
            block[place].push(*value);
        }
    }
    let mut blocks: Vec<_> = blocks.into_values().collect();
    let values = blocks.iter_mut().flatten();
    values.for_each(|values| values.sort_by(f64::total_cmp));
    blocks
}

/// A number in `0..bound`, each equally likely (rejection of the incomplete last interval).
pub(crate) fn below(generator: &mut ChaCha8Rng, bound: usize) -> usize {
    let bound = bound as u64;
    let limit = u64::MAX - u64::MAX % bound;
    loop {
        let draw = generator.next_u64();
        if draw < limit {
            return (draw % bound) as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_no_bounds() {
        assert_eq!(median_interval(&[7.0], 1), Some(Interval::alone(7.0)));
        assert_eq!(median_interval(&[], 1), None);
        assert_eq!(median_interval(&[1.0, f64::INFINITY], 1), None);
        let ratio = ratio_interval(&[(0, 6.0)], &[(0, 3.0), (1, 3.0)], 1);
        assert_eq!(ratio, Some(Interval::alone(2.0)));
    }

    #[test]
    fn ratio_interval_cancels_block_effects() {
        let b: Vec<(u32, f64)> = (0..9)
            .map(|block| (block, 10.0 + f64::from(block * block)))
            .collect();
        let a: Vec<(u32, f64)> = b
            .iter()
            .map(|(block, value)| (*block, value * 2.0))
            .collect();
        let paired = ratio_interval(&a, &b, 3).unwrap();
        assert_eq!(
            (paired.value, paired.low, paired.high),
            (2.0, Some(2.0), Some(2.0))
        );
        let elsewhere: Vec<(u32, f64)> = a
            .iter()
            .map(|(block, value)| (block + 100, *value))
            .collect();
        let unpaired = ratio_interval(&elsewhere, &b, 3).unwrap();
        assert!(unpaired.high.unwrap() - unpaired.low.unwrap() > 0.5);
    }

    #[test]
    fn ratio_absent_for_a_median_of_zero() {
        assert_eq!(ratio_interval(&[(0, 1.0)], &[], 1), None);
        assert_eq!(ratio_interval(&[(0, 1.0)], &[(0, 0.0)], 1), None);
    }

    fn side(values: &[f64]) -> Vec<(u32, f64)> {
        (0..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn estimate_absent_without_values_and_unbounded_for_one_block() {
        let first = |medians: &[f64]| medians.first().copied();
        let one = side(&[4.0]);
        assert_eq!(
            estimate_interval(&[&one], 1, first),
            Some(Interval::alone(4.0))
        );
        assert_eq!(estimate_interval(&[&one, &[]], 1, first), None);
        assert_eq!(
            estimate_interval(&[&side(&[1.0, f64::NAN])], 1, first),
            None
        );
        assert_eq!(estimate_interval(&[&side(&[1.0, 2.0])], 1, |_| None), None);
    }
}
