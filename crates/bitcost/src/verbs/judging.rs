//! From which change on a comparison calls a metric better or worse, and whether worse is a failure.

use report::compare::{Comparison, THRESHOLD_PCT, Verdict};

use crate::failure::Failure;

/// How a comparison is judged.
#[derive(clap::Args)]
pub struct Judging {
    /// From which change on a metric is better or worse, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = THRESHOLD_PCT, value_parser = threshold)]
    pub threshold: f64,
    /// Exit with 1 when a metric of a cell is worse
    #[arg(long, value_name = "VERDICT", value_parser = ["worse"])]
    pub fail_on: Option<String>,
}

/// A share in per cent as it is written, with or without its sign.
pub fn threshold(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    let possible = number.filter(|number: &f64| (0.1..=100.0).contains(number));
    possible.ok_or_else(|| format!("`{text}` is no threshold; allowed: 0.1 to 100 (per cent)"))
}

impl Judging {
    /// What was compared, as it is judged.
    ///
    /// # Errors
    /// Check, when a metric is worse and that is to fail.
    pub fn check(&self, comparison: &Comparison) -> Result<(), Failure> {
        match comparison.count(Verdict::Worse) {
            worse if worse > 0 && self.fail_on.is_some() => Err(Failure::Check(format!("{worse} worse"))),
            _ => Ok(()),
        }
    }
}
