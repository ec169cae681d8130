//! The smallest change that a comparison calls better or worse, and whether worse is a failure.

use bitcost_analysis::compare::{Comparison, THRESHOLD_PCT, Verdict};
use bitcost_model::units::counted;

use crate::failure::Failure;

/// How a comparison is judged.
#[derive(clap::Args)]
pub struct Judging {
    /// Smallest change that counts as better or worse, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = THRESHOLD_PCT, value_parser = threshold)]
    pub threshold: f64,
    /// Exit with code 1 if a metric of any cell got worse (corrected for the number of comparisons
    /// by Holm's procedure, with at most 5 % false alarms), or if the new side lacks cells or
    /// values of the old one
    #[arg(long, value_name = "VERDICT", value_parser = ["worse"])]
    pub fail_on: Option<String>,
}

/// Reads a threshold in per cent, with or without the sign `%`.
pub fn threshold(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    let possible = number.filter(|number: &f64| (0.1..=100.0).contains(number));
    possible.ok_or_else(|| format!("`{text}` is not a threshold; allowed: 0.1 to 100 (per cent)"))
}

impl Judging {
    /// Checks the result of a comparison against the options.
    ///
    /// # Errors
    /// Check, if the user asked for it: a metric is worse, the new side lacks values or cells of
    /// the old one, or nothing could be judged. Not comparable, if the sides cannot be compared.
    pub fn check(&self, comparison: &Comparison) -> Result<(), Failure> {
        if self.fail_on.is_none() {
            return Ok(());
        }
        if let Some(why) = comparison.not_comparable.first() {
            return Err(Failure::NotComparable(format!("not comparable: {why}")));
        }
        let together = comparison.moved_together();
        let together = together.filter(|found| found.verdict == Verdict::Worse);
        let (worse, missing) = (
            comparison.count(Verdict::Worse) + together.count(),
            comparison.count(Verdict::Missing),
        );
        let lost = comparison.lost_cells();
        let found = [
            (
                worse,
                format!(
                    "{worse} worse, corrected for {}",
                    counted(comparison.judged_together(), "comparison")
                ),
            ),
            (
                missing,
                format!("{missing} missing: the new side lacks values that the old side has"),
            ),
            (
                lost,
                format!(
                    "{} that the old side has and the new side lacks",
                    counted(lost, "cell")
                ),
            ),
        ];
        let found: Vec<String> = found
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(_, words)| words)
            .collect();
        if !found.is_empty() {
            return Err(Failure::Check(found.join("; ")));
        }
        match comparison.changes().next() {
            Some(_) => Ok(()),
            None => Err(Failure::Check(
                "nothing to compare: no run of either side has a value".into(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use bitcost_analysis::compare::{Pairing, Unmatched};

    use super::*;

    #[test]
    fn a_lost_cell_fails_and_a_new_one_does_not() {
        let judging = Judging {
            threshold: THRESHOLD_PCT,
            fail_on: Some("worse".into()),
        };
        let only = |is_old| Unmatched {
            cell: "UDP".into(),
            is_old,
            why: None,
        };
        let comparison = |is_within, is_old| Comparison {
            names: ("a".into(), "b".into()),
            pairing: Pairing::Apart,
            is_within,
            threshold_pct: THRESHOLD_PCT,
            executions: (1, 1),
            unmatched: vec![only(is_old)],
            ..Comparison::default()
        };
        let said = |is_within, is_old| {
            judging
                .check(&comparison(is_within, is_old))
                .expect_err("a failure")
        };
        let words = |words: &str| Failure::Check(words.into());
        assert_eq!(
            said(false, true),
            words("1 cell that the old side has and the new side lacks")
        );
        let nothing = words("nothing to compare: no run of either side has a value");
        assert_eq!(
            (&said(false, false), &said(true, true)),
            (&nothing, &nothing)
        );
        let lenient = Judging {
            fail_on: None,
            ..judging
        };
        assert_eq!(lenient.check(&comparison(false, true)), Ok(()));
    }
}
