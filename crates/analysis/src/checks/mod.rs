//! A document's statements, checked on our own runs: each figure with its interval, and whether it
//! is within its bounds.

mod figure;

use bitcost_stats::Interval;
use bitcost_study::check::{Check, Claim, Levels};

use crate::cells::CellRuns;
use figure::Comparison;

/// The number of runs of each cell from which a statement can pass or fail: the interval of two
/// runs is their range, whatever their spread.
pub const ENOUGH_RUNS: usize = 3;

bitcost_model::words! {
    /// What our runs say about a statement.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The word for programs.
    pub fn key(self) -> String {
        self.name().replace(' ', "_")
    }

    fn of(interval: Interval, claim: &Claim) -> Verdict {
        let (Some(low), Some(high)) = (interval.low, interval.high) else {
            return Verdict::CannotTell;
        };
        let (least, most) = (
            claim.at_least.unwrap_or(f64::NEG_INFINITY),
            claim.at_most.unwrap_or(f64::INFINITY),
        );
        if low >= least && high <= most {
            Verdict::Pass
        } else if high < least || low > most {
            Verdict::Fail
        } else {
            Verdict::CannotTell
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

/// A statement and its verdict.
#[derive(Clone, Debug)]
pub struct CheckSummary {
    /// The statement in words.
    pub statement: String,
    /// What our runs say about it.
    pub verdict: Verdict,
    /// Each figure of the statement.
    pub claims: Vec<ClaimSummary>,
}

/// One figure of a statement.
#[derive(Clone, Debug)]
pub struct ClaimSummary {
    /// The figure and its bounds, as the study has them.
    pub claim: Claim,
    /// Levels of the factors that the claim does not name.
    pub levels: Levels,
    /// The figure; absent where a cell that it needs has no value.
    pub interval: Option<Interval>,
    /// Runs with the metric, in the cell that has the fewest of them.
    pub runs: usize,
    /// Whether the figure is within its bounds.
    pub verdict: Verdict,
}

/// Every statement of a study, checked on the runs of its cells.
pub(crate) fn checks(
    checks: &[Check],
    cells: &[(&Levels, &CellRuns)],
    seed: u64,
) -> Vec<CheckSummary> {
    checks
        .iter()
        .map(|check| summary(check, cells, seed))
        .collect()
}

fn summary(check: &Check, cells: &[(&Levels, &CellRuns)], seed: u64) -> CheckSummary {
    let claims: Vec<ClaimSummary> = check
        .claims
        .iter()
        .flat_map(|claim| claims(claim, cells, seed))
        .collect();
    let verdict = Verdict::all(claims.iter().map(|claim| claim.verdict));
    CheckSummary {
        statement: check.statement.clone(),
        verdict,
        claims,
    }
}

/// A claim at each combination of the factors that it does not name; without a figure where there
/// is no such cell.
fn claims(claim: &Claim, cells: &[(&Levels, &CellRuns)], seed: u64) -> Vec<ClaimSummary> {
    let told = |levels: Levels, interval: Option<Interval>, runs: usize| {
        let verdict = match &interval {
            Some(interval) if runs >= ENOUGH_RUNS => Verdict::of(*interval, claim),
            _ => Verdict::CannotTell,
        };
        ClaimSummary {
            claim: claim.clone(),
            levels,
            interval,
            runs,
            verdict,
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
