//! How much a result follows a resource: the relative change of the result ÷ the relative change of the resource.
//!
//! Both changes are differences of logarithms, so a result that is proportional to the resource has an elasticity of 1,
//! however large the change is, and one that does not depend on it has 0 (Marshall, "Principles of Economics", book III,
//! chapter 4; as causal profiling asks of a program: Curtsinger and Berger, "Coz", SOSP 2015).

use crate::bootstrap::Interval;
use crate::change::{Scale, change, paired_change};

/// The least change of a resource, as a difference of logarithms, that an elasticity is computed of: noise is divided by it.
const LEAST: f64 = 0.03;

/// What followed a change of a resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elasticity {
    /// The result with the change ÷ the result without it, with its 95 % interval.
    pub ratio: Interval,
    /// The elasticity, with the same interval; the resource's change counts as exactly known.
    pub elasticity: Interval,
}

/// The elasticity of a result, from its values in the same blocks without and with the change; `resource` is the logarithm
/// of what the change leaves of the resource, such as ln 0.8.
///
/// Absent where the resource did not change by at least 3 %, and where a value is not above 0.
pub fn elasticity(pairs: &[(f64, f64)], resource: f64) -> Option<Elasticity> {
    if !resource.is_finite() || resource.abs() < LEAST {
        return None;
    }
    let (without, with): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let ratio = paired_change(pairs, Scale::Ratio)
        .or_else(|| change(&without, &with, Scale::Ratio))?
        .interval;
    Some(Elasticity {
        ratio,
        elasticity: ratio.map(|ratio| ratio.ln() / resource),
    })
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{RngCore, SeedableRng};

    use super::*;

    /// Pairs of a result that follows a resource by this elasticity, with nearly normal noise of 0.6 %.
    fn simulated(truth: f64, resource: f64, blocks: usize, seed: u64) -> Vec<(f64, f64)> {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        let mut uniform = || f64::from(generator.next_u32()) / f64::from(u32::MAX) - 0.5;
        let mut noisy =
            |value: f64| value * (1.0 + 0.01 * (uniform() + uniform() + uniform() + uniform()));
        let pair = |_| (noisy(940.0), noisy(940.0 * (truth * resource).exp()));
        (0..blocks).map(pair).collect()
    }

    #[test]
    fn the_elasticity_of_simulated_results_is_the_true_one() {
        let resource = 0.8_f64.ln();
        for truth in [0.0, 0.5, 1.0] {
            let covered = (0..200).filter(|seed| {
                let found = elasticity(&simulated(truth, resource, 6, *seed), resource).unwrap();
                let Interval { value, low, high } = found.elasticity;
                assert!((value - truth).abs() < 0.08, "{truth}: {found:?}");
                low.unwrap() <= truth && truth <= high.unwrap()
            });
            let covered = covered.count();
            assert!(covered >= 180, "{truth}: {covered} of 200");
        }
    }

    #[test]
    fn a_larger_change_of_a_cost_gives_the_same_elasticity() {
        // A message costs 2 µs, and the rate is its inverse.
        for added_ns in [200.0, 500.0, 2000.0_f64] {
            let left = 2000.0 / (2000.0 + added_ns);
            let pairs = [
                (5e5, 5e5 * left),
                (5.1e5, 5.1e5 * left),
                (4.9e5, 4.9e5 * left),
            ];
            let found = elasticity(&pairs, left.ln()).unwrap().elasticity.value;
            assert!((found - 1.0).abs() < 0.1, "{added_ns}: {found}");
        }
    }

    #[test]
    fn nothing_follows_a_resource_that_did_not_change() {
        let pairs = [(1.0, 0.9), (1.0, 0.9)];
        assert_eq!(elasticity(&pairs, 0.0), None);
        assert_eq!(elasticity(&pairs, f64::NEG_INFINITY), None);
        assert_eq!(elasticity(&[(0.0, 1.0)], 0.8_f64.ln()), None);
        let alone = elasticity(&[(1.0, 0.8)], 0.8_f64.ln()).unwrap().elasticity;
        assert_eq!((alone.low, alone.high), (None, None));
        assert!((alone.value - 1.0).abs() < 1e-9);
    }
}
