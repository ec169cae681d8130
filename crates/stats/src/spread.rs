//! Mean, standard deviation and range of values.

/// Mean, deviation and range of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Their number.
    pub count: usize,
    /// Their sum ÷ their number.
    pub mean: f64,
    /// Root of the sum of squared distances from the mean ÷ (their number − 1); absent for one value.
    pub deviation: Option<f64>,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub largest: f64,
}

/// The spread of these values; absent where there are none, or one is not finite.
pub fn spread(values: &[f64]) -> Option<Spread> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let count = values.len();
    let (least, largest) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
    let deviation = (count > 1).then(|| (squares(values) / (count - 1) as f64).sqrt());
    Some(Spread {
        count,
        mean: mean(values),
        deviation,
        least,
        largest,
    })
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sum of squared distances from the mean.
pub(crate) fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_no_deviation() {
        let found = spread(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).expect("a spread");
        assert_eq!(
            (found.count, found.mean, found.least, found.largest),
            (8, 5.0, 2.0, 9.0)
        );
        assert!((found.deviation.expect("of several") - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(
            spread(&[3.0]).map(|one| (one.mean, one.deviation)),
            Some((3.0, None))
        );
        assert_eq!((spread(&[]), spread(&[1.0, f64::NAN])), (None, None));
    }
}
