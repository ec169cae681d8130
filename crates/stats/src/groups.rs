//! Whether positive values fall into two groups with a wide gap between them.

/// The least ratio of the two values at the gap.
const GAP: f64 = 1.5;

/// The gap is at least this many times as wide as every other gap, in logarithms.
const CLEAR: f64 = 2.0;

/// A value of the gap between two groups: values below it are of the lower group. Absent where the values are of one group,
/// where there are fewer than two, or where one is not a positive number.
///
/// A group may be a single value, so this is for quantities that vary little without a cause, such as bytes per packet.
pub fn gap(values: &[f64]) -> Option<f64> {
    if values
        .iter()
        .any(|value| !(value.is_finite() && *value > 0.0))
    {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let width = |pair: &[f64]| (pair[1] / pair[0]).ln();
    let widest = sorted
        .windows(2)
        .max_by(|a, b| width(a).total_cmp(&width(b)))?;
    let middle = (widest[0] * widest[1]).sqrt();
    let is_other = |pair: &&[f64]| pair[1] < middle || pair[0] > middle;
    let others = sorted.windows(2).filter(is_other).map(width);
    let next = others.fold(0.0, f64::max);
    (width(widest) >= GAP.ln().max(CLEAR * next)).then_some(middle)
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng, SeedableRng};

    use super::gap;

    #[test]
    fn two_groups_are_found_whatever_their_sizes() {
        for values in [
            &[4.2, 4.3, 4.1, 30.0, 27.0, 4.2][..],
            &[4.2, 4.3, 4.1, 4.0, 4.2, 26.0],
            &[3.4, 30.0],
        ] {
            let cut = gap(values).expect("two groups");
            assert!((4.5..26.0).contains(&cut), "{cut}");
        }
    }

    #[test]
    fn one_group_a_slope_and_values_without_a_logarithm_have_no_gap() {
        let slope: Vec<f64> = (0..12).map(|step| 1.6_f64.powi(step)).collect();
        for values in [
            &slope[..],
            &[3.2, 3.4, 3.5, 4.4],
            &[5.0],
            &[],
            &[1.0, 0.0, 8.0],
            &[1.0, f64::NAN],
        ] {
            assert_eq!(gap(values), None, "{values:?}");
        }
    }

    #[test]
    fn values_that_vary_by_a_sixth_are_hardly_ever_two_groups() {
        let mut generator = ChaCha8Rng::seed_from_u64(3);
        let mut unit = || (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        // The sum of 12 uniform values is nearly normal, with a deviation of 1.
        let mut normal = || (0..12).map(|_| unit()).sum::<f64>() - 6.0;
        let found = (0..1000).filter(|_| {
            let values: Vec<f64> = (0..10).map(|_| (normal() / 6.0).exp()).collect();
            gap(&values).is_some()
        });
        assert!(found.count() <= 10);
    }
}
