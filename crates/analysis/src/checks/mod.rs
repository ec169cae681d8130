//! A document's statements, checked on our own runs: each figure with its interval, and whether it
//! is within its bounds.

mod figure;

use bitcost_stats::Interval;
use bitcost_study::check::{Check, Claim, Levels};
use serde::Serialize;

use crate::cells::CellRuns;
use bitcost_model::as_map::as_map;
use figure::Comparison;

/// The number of runs of each cell from which a statement can pass or fail: the interval of two
/// runs is their range, whatever their spread.
pub const ENOUGH_RUNS: usize = 3;

bitcost_model::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Verdict {
        /// The figure and its whole interval are within the bounds.
        Pass = "pass",
        /// The figure breaks a bound, and so does its whole interval.
        Fail = "fail",
        /// Neither holds: the interval reaches over a bound, there is no interval, or a cell has fewer
        /// than [`ENOUGH_RUNS`] runs.
        CannotTell = "cannot tell",
    }
}

impl Verdict {
    /// The verdict on a figure that is to be at least and at most this.
    pub fn of(interval: Interval, least: Option<f64>, most: Option<f64>) -> Verdict {
        let (Some(low), Some(high)) = (interval.low, interval.high) else {
            return Verdict::CannotTell;
        };
        let least = least.unwrap_or(f64::NEG_INFINITY);
        let most = most.unwrap_or(f64::INFINITY);
        match (low >= least && high <= most, high < least || low > most) {
            (true, _) => Verdict::Pass,
            (_, true) => Verdict::Fail,
            _ => Verdict::CannotTell,
        }
    }

    /// The verdict of several: one failure decides; otherwise all must pass.
    fn all(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
        verdicts.fold(Verdict::Pass, |all, one| match (all, one) {
            (Verdict::Fail, _) | (_, Verdict::Fail) => Verdict::Fail,
            (Verdict::Pass, Verdict::Pass) => Verdict::Pass,
            _ => Verdict::CannotTell,
        })
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct CheckSummary {
    pub statement: String,
    pub verdict: Verdict,
    pub claims: Vec<ClaimSummary>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ClaimSummary {
    pub metric: String,
    /// What is computed, by its key in studies.
    pub figure: &'static str,
    /// The figure in words, after the metric's title.
    pub of: String,
    /// Levels of the factors that the claim does not name.
    #[serde(serialize_with = "as_map")]
    pub levels: Levels,
    /// The figure; absent where a cell that it needs has no value.
    #[serde(flatten)]
    pub interval: Option<Interval>,
    /// Runs with the metric, in the cell that has the fewest of them.
    pub runs: usize,
    pub verdict: Verdict,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    #[serde(skip)]
    pub bounds: String,
}

pub(crate) fn checks(checks: &[Check], cells: &[CellRuns], seed: u64) -> Vec<CheckSummary> {
    let summary = |check: &Check| {
        let of = |claim| claims(claim, cells, seed);
        let claims: Vec<ClaimSummary> = check.claims.iter().flat_map(of).collect();
        CheckSummary {
            statement: check.statement.clone(),
            verdict: Verdict::all(claims.iter().map(|claim| claim.verdict)),
            claims,
        }
    };
    checks.iter().map(summary).collect()
}

/// A claim at each combination of the factors that it does not name; without a figure where there
/// is no such cell.
fn claims(claim: &Claim, cells: &[CellRuns], seed: u64) -> Vec<ClaimSummary> {
    let told = |levels: Levels, interval: Option<Interval>, runs: usize| {
        let verdict = match &interval {
            Some(interval) if runs >= ENOUGH_RUNS => {
                Verdict::of(*interval, claim.at_least, claim.at_most)
            }
            _ => Verdict::CannotTell,
        };
        ClaimSummary {
            metric: claim.metric.clone(),
            figure: claim.figure.kind.name(),
            of: figure::words(&claim.figure),
            levels,
            interval,
            runs,
            verdict,
            at_least: claim.at_least,
            at_most: claim.at_most,
            bounds: claim.bounds(),
        }
    };
    let found = figure::comparisons(&claim.figure, cells);
    if found.is_empty() {
        return vec![told(Levels::new(), None, 0)];
    }
    let one = |comparison: Comparison| {
        let interval = comparison.interval(&claim.metric, &claim.figure, seed);
        let runs = comparison.runs(&claim.metric);
        told(comparison.levels, interval, runs)
    };
    found.into_iter().map(one).collect()
}
