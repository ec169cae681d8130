//! Quantiles of a small set of numbers.

/// The median: the middle value, or the mean of the two middle ones; absent where there are no values or one is not a
/// number.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile at `fraction` (0 to 1) by linear interpolation between order statistics: type 7 of Hyndman and Fan,
/// "Sample Quantiles in Statistical Packages" (1996).
///
/// Absent where there are no values, one is not a number, or the fraction lies outside 0 to 1.
pub fn quantile(values: &[f64], fraction: f64) -> Option<f64> {
    if values.iter().any(|value| value.is_nan()) || !(0.0..=1.0).contains(&fraction) {
        return None;
    }
    quantile_in_place(&mut values.to_vec(), fraction)
}

/// [`quantile`] of numbers in ascending order; absent where there are none.
pub fn quantile_of_sorted(sorted: &[f64], fraction: f64) -> Option<f64> {
    let place = fraction.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    Some(low + place.fract() * (high - low))
}

/// [`quantile`] of values that are not NaN; reorders them.
pub(crate) fn quantile_in_place(values: &mut [f64], fraction: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let place = fraction * last as f64;
    let below = place.floor() as usize;
    let (_, low, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    let low = *low;
    let part = place - below as f64;
    if part == 0.0 {
        return Some(low);
    }
    let high = above.iter().copied().min_by(f64::total_cmp)?;
    Some(low + part * (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_type_7() {
        let values = [15.0, 50.0, 20.0, 40.0, 35.0];
        assert_eq!(quantile(&values, 0.0), Some(15.0));
        assert_eq!(quantile(&values, 0.25), Some(20.0));
        assert!((quantile(&values, 0.4).unwrap() - 29.0).abs() < 1e-12);
        assert_eq!(quantile(&values, 1.0), Some(50.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        let mut sorted = values;
        sorted.sort_by(f64::total_cmp);
        for fraction in [0.0, 0.1, 0.25, 0.4, 0.5, 0.99, 1.0] {
            assert_eq!(
                quantile_of_sorted(&sorted, fraction),
                quantile(&values, fraction)
            );
        }
        assert_eq!(quantile_of_sorted(&[], 0.5), None);
    }

    #[test]
    fn quantile_absent_for_invalid_input() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
    }
}
