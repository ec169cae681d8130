//! Intervals of figures that are computed from several medians, such as the largest over the smallest.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::bootstrap::{Interval, RESAMPLES, Side, below};
use crate::quantile::quantile_in_place;

/// A figure of the medians of several sides, with its 95 % percentile bootstrap interval. Each value comes with its block.
///
/// Whole blocks are resampled, so that the effect of a block on all of its values cancels; a resample that leaves a side
/// without values is skipped. Absent where a side has no values, a value is not finite, or the medians have no such figure;
/// without bounds where a side has only one value, or all are of one block.
pub fn estimate_interval(
    sides: &[Side],
    seed: u64,
    figure: impl Fn(&[f64]) -> Option<f64>,
) -> Option<Interval> {
    if sides
        .iter()
        .copied()
        .flatten()
        .any(|(_, value)| !value.is_finite())
    {
        return None;
    }
    let blocks = by_block(sides);
    let everything: Vec<usize> = (0..blocks.len()).collect();
    let value = figure(&medians(&blocks, &everything, sides.len())?)?;
    if blocks.len() < 2 || sides.iter().any(|side| side.len() < 2) {
        return Some(Interval::alone(value));
    }
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let mut chosen = everything;
    let resampled = (0..RESAMPLES).filter_map(|_| {
        chosen
            .iter_mut()
            .for_each(|slot| *slot = below(&mut generator, blocks.len()));
        figure(&medians(&blocks, &chosen, sides.len())?)
    });
    Some(Interval::new(value, resampled.collect()))
}

/// The values of each side in each block, in an order that does not depend on theirs.
fn by_block(sides: &[Side]) -> Vec<Vec<Vec<f64>>> {
    let mut blocks: BTreeMap<u32, Vec<Vec<f64>>> = BTreeMap::new();
    for (place, side) in sides.iter().enumerate() {
        for (block, value) in *side {
            blocks
                .entry(*block)
                .or_insert_with(|| vec![Vec::new(); sides.len()])[place]
                .push(*value);
        }
    }
    let mut blocks: Vec<_> = blocks.into_values().collect();
    blocks
        .iter_mut()
        .flatten()
        .for_each(|values| values.sort_by(f64::total_cmp));
    blocks
}

fn medians(by_block: &[Vec<Vec<f64>>], chosen: &[usize], sides: usize) -> Option<Vec<f64>> {
    let median = |side: usize| {
        let mut values: Vec<f64> = chosen
            .iter()
            .flat_map(|block| by_block[*block][side].iter().copied())
            .collect();
        quantile_in_place(&mut values, 0.5)
    };
    (0..sides).map(median).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
