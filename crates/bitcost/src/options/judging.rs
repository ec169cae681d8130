//! The smallest change that a comparison calls better or worse, and whether worse is a failure.

use bitcost_analysis::compare::{Change, Comparison, THRESHOLD_PCT, Verdict};
use bitcost_model::units::counted;

use super::repeats::percent;
use crate::failure::Failure;

#[derive(clap::Args)]
pub struct Judging {
    /// Smallest change that counts as better or worse, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = THRESHOLD_PCT, value_parser = percent)]
    pub threshold: f64,
    /// Exit with code 1 if a metric of any cell got worse, or if the new side lacks cells or values
    /// of the old one; with code 4 if the runs cannot tell
    #[arg(long, value_name = "VERDICT", value_parser = ["worse"])]
    pub fail_on: Option<String>,
}

impl Judging {
    /// Checks the result of a comparison against the options.
    pub fn check(&self, comparison: &Comparison) -> Result<(), Failure> {
        if self.fail_on.is_none() {
            return Ok(());
        }
        let (worse, missing) = (
            comparison.count(Verdict::Worse),
            comparison.count(Verdict::Missing),
        );
        let lost = comparison.lost_cells();
        let found = [
            (worse > 0).then(|| {
                let all = counted(comparison.judged_together, "comparison");
                format!("{worse} worse, corrected for {all}")
            }),
            (missing > 0).then(|| {
                format!("{missing} missing: the new side lacks values that the old side has")
            }),
            (lost > 0).then(|| {
                let cells = counted(lost, "cell");
                format!("{cells} that the old side has and the new side lacks")
            }),
        ];
        let found: Vec<String> = found.into_iter().flatten().collect();
        if !found.is_empty() {
            return Err(Failure::Check(found.join("; ")));
        }
        if comparison.changes().next().is_none() {
            return Err(Failure::Check(
                "nothing to compare: no run of either side has a value".into(),
            ));
        }
        let all = comparison.changes();
        let judged: Vec<&Change> = all
            .filter(|change| change.metric.has_better_side())
            .collect();
        if judged.is_empty() {
            let why = "cannot tell what is worse: none of the compared metrics has a better side";
            return Err(Failure::Undecided(why.into()));
        }
        let is_open = |change: &&&Change| change.verdict == Verdict::CannotTell;
        let is_new = |change: &&Change| change.verdict == Verdict::New;
        match judged.iter().filter(is_open).count() {
            0 if judged.iter().any(is_new) && judged.iter().all(is_new) => {
                let none = "cannot tell: the old side has no value to compare with";
                Err(Failure::Undecided(none.into()))
            }
            0 => Ok(()),
            open => Err(Failure::Undecided(format!(
                "cannot tell whether {open} of {} are worse: their intervals are too wide; judge one metric (`bitcost compare OLD NEW --metric {}`) or a larger change (--threshold), or make them narrower: `bitcost run` with more --blocks, `bitcost test` with --against or --until-interval {}%",
                counted(judged.len(), "figure"),
                judged[0].metric.name,
                comparison.threshold_pct
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use bitcost_analysis::compare::{ComparedCell, Unmatched};
    use bitcost_analysis::metrics::metric;

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
        };
        let comparison = |is_within, is_old| Comparison {
            old: "a".into(),
            new: "b".into(),
            is_within,
            threshold_pct: THRESHOLD_PCT,
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
        assert!(matches!(
            judging.check(&undecided()),
            Err(Failure::Undecided(why)) if why.starts_with("cannot tell whether 1 of 1 figure")
        ));
        let mut neutral = undecided();
        neutral.cells[0].changes[0].metric = metric("segment_size_bytes").expect("a metric");
        let found = judging.check(&neutral);
        assert!(matches!(found, Err(Failure::Undecided(why)) if why.contains("better side")));
        let lenient = Judging {
            fail_on: None,
            ..judging
        };
        assert_eq!(lenient.check(&comparison(false, true)), Ok(()));
        assert_eq!(lenient.check(&undecided()), Ok(()));
    }

    /// A comparison of one metric that the runs do not decide.
    fn undecided() -> Comparison {
        let change = Change {
            metric: metric("throughput_mbps").expect("a metric"),
            old_median: Some(100.0),
            new_median: Some(90.0),
            old_blocks: 1,
            new_blocks: 1,
            shift: None,
            is_paired: false,
            is_adjusted: false,
            chance: None,
            verdict: Verdict::CannotTell,
        };
        Comparison {
            cells: vec![ComparedCell {
                levels: Vec::new(),
                changes: vec![change],
            }],
            ..Comparison::default()
        }
    }
}
