//! From samples to a figure: the median and two percentiles.

use bitcost_model::constants::{Constant, ConstantFigure};

/// A constant, or the reason why it could not be measured.
pub(super) type Found = (Constant, Result<ConstantFigure, String>);

/// The reason why what needs another CPU is absent where there is none.
pub const ONE_CPU: &str = "only one CPU may be used";

/// The reason why what needs a CPU is absent where none is known.
pub const NOT_KNOWN: &str = "the CPUs that may be used are not known";

/// The fewest samples of which a spread is given.
const SAMPLES_LEAST: usize = 20;

/// The figure of these samples, in ns.
///
/// # Errors
/// A sentence, where there are too few of them.
pub(super) fn figure(mut samples: Vec<f64>) -> Result<ConstantFigure, String> {
    if samples.len() < SAMPLES_LEAST {
        return Err(format!(
            "{} samples were taken, {SAMPLES_LEAST} are needed: the machine is busy",
            samples.len()
        ));
    }
    samples.sort_by(f64::total_cmp);
    // The nearest rank: each percentile is one of the samples.
    let at = |share: f64| {
        let rank = (share * samples.len() as f64).ceil() as usize;
        samples[rank.clamp(1, samples.len()) - 1].max(0.0)
    };
    Ok(ConstantFigure {
        median_ns: at(0.5),
        p5_ns: at(0.05),
        p95_ns: at(0.95),
        samples: samples.len() as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples_of_the_nearest_rank() {
        let found = figure((1..=100).rev().map(f64::from).collect()).expect("enough");
        assert_eq!(
            (found.p5_ns, found.median_ns, found.p95_ns),
            (5.0, 50.0, 95.0)
        );
        assert_eq!(found.samples, 100);
    }

    #[test]
    fn too_few_samples_are_a_reason() {
        let why = figure(vec![1.0; 19]).expect_err("too few");
        assert!(why.starts_with("19 samples"), "{why}");
    }
}
