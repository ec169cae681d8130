//! The error of a mean of values that follow each other in time, by batch means.
//!
//! Neighbouring values resemble each other, so that their number says too much of the mean. The means
//! of long batches are close to independent: with a batch as long as the root of the number of
//! values, the estimate is consistent (J. M. Flegal and G. L. Jones, "Batch means and spectral
//! variance estimators in Markov chain Monte Carlo", Annals of Statistics 38(2), 2010).

use crate::change::Error;
use crate::spread::spread;

/// The fewest values of which the error of a mean is stated.
const FEWEST: usize = 9;

/// The values of a batch: the root of their number, rounded down; absent where they are too few.
pub fn batch_length(values: usize) -> Option<usize> {
    (values >= FEWEST).then(|| values.isqrt())
}

/// The error of the mean of all values, from the means of their batches: their standard deviation ÷ the
/// root of their number, with one degree of freedom less. Absent for under three batches, and where a
/// mean is not finite.
pub fn batch_means_error(means: &[f64]) -> Option<Error> {
    let count = means.len() as f64;
    let deviation = spread(means).filter(|_| count >= 3.0)?.deviation?;
    Some(Error {
        error: deviation / count.sqrt(),
        freedom: count - 1.0,
    })
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    fn half_width(means: &[f64]) -> Option<f64> {
        batch_means_error(means)?.reach()
    }

    fn means(values: &[f64]) -> Vec<f64> {
        let length = batch_length(values.len()).expect("enough values");
        let batches = values.chunks_exact(length);
        batches
            .map(|batch| batch.iter().sum::<f64>() / length as f64)
            .collect()
    }

    /// How often, in per cent, the interval of 100 values of an autoregression of the first order
    /// holds its mean, 0.
    fn coverage(memory: f64, interval: impl Fn(&[f64]) -> f64) -> u32 {
        let mut generator = ChaCha8Rng::seed_from_u64(11);
        let mut uniform = || f64::from(generator.next_u32()) / f64::from(u32::MAX) - 0.5;
        let mut held = 0;
        for _ in 0..1000 {
            let mut last = 0.0;
            let values: Vec<f64> = (0..200)
                .map(|_| {
                    last = memory * last + uniform();
                    last
                })
                .skip(100)
                .collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            held += u32::from(mean.abs() <= interval(&values));
        }
        held / 10
    }

    #[test]
    fn the_interval_holds_the_mean_of_values_that_resemble_their_neighbours() {
        let batches = |values: &[f64]| half_width(&means(values)).expect("an error");
        assert!((93..=97).contains(&coverage(0.0, batches)));
        assert!((86..=95).contains(&coverage(0.6, batches)));
        // As if they were independent.
        let single = |values: &[f64]| half_width(values).expect("an error");
        assert!(coverage(0.6, single) < 75);
    }

    #[test]
    fn few_values_have_no_error() {
        assert_eq!(
            (batch_length(8), batch_length(9), batch_length(100)),
            (None, Some(3), Some(10))
        );
        assert_eq!(half_width(&[1.0, 2.0]), None);
        assert_eq!(half_width(&[1.0, 2.0, f64::NAN]), None);
        assert_eq!(half_width(&[2.0, 2.0, 2.0]), Some(0.0));
    }
}
