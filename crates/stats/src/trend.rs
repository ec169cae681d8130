//! The trend of values over their position in an order.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::bootstrap::below;
use crate::change::{centred, product};

/// Permutations that a slope is compared with.
const PERMUTATIONS: usize = 1000;

/// A linear change of values over positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Change per unit of the position, by least squares.
    pub slope: f64,
    /// Probability of a slope as steep for the same values in random order (two-sided permutation test).
    pub chance: f64,
}

/// The trend of points of position and value; absent with fewer than three, or where all positions are equal.
pub fn trend(points: &[(f64, f64)], seed: u64) -> Option<Trend> {
    if points.len() < 3
        || points
            .iter()
            .any(|(x, y)| !(x.is_finite() && y.is_finite()))
    {
        return None;
    }
    let places: Vec<f64> = points.iter().map(|(x, _)| *x).collect();
    let mut values: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
    let places = centred(&places);
    let spread = Some(product(&places, &places)).filter(|spread| *spread > 0.0)?;
    let slope = |values: &[f64]| product(&places, &centred(values)) / spread;
    let found = slope(&values);
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let mut as_steep = || {
        for last in (1..values.len()).rev() {
            values.swap(last, below(&mut generator, last + 1));
        }
        slope(&values).abs() >= found.abs()
    };
    let count = (0..PERMUTATIONS).filter(|_| as_steep()).count();
    // The observed order is one of the permutations.
    Some(Trend {
        slope: found,
        chance: (count + 1) as f64 / (PERMUTATIONS + 1) as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_significant_and_noise_is_not() {
        let noise = [0.3, -0.2, 0.1, -0.4, 0.2, 0.0, -0.1, 0.4, -0.3, 0.1];
        let points = |slope: f64| {
            noise
                .iter()
                .enumerate()
                .map(|(x, noise)| (x as f64, 10.0 + slope * x as f64 + noise))
                .collect::<Vec<_>>()
        };
        let drift = trend(&points(0.5), 1).expect("ten points");
        assert!((drift.slope - 0.5).abs() < 0.1 && drift.chance < 0.01);
        assert!(trend(&points(0.0), 1).expect("ten points").chance > 0.1);
        assert_eq!(trend(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)], 1), None);
    }
}
