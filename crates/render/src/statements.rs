//! The statements of a study's document, with their verdicts.

use bitcost_analysis::checks::{CheckSummary, ClaimSummary, ENOUGH_RUNS};
use bitcost_analysis::metrics::metric;
use bitcost_model::study::phrase;
use bitcost_model::units::counted;

use crate::block::Block;
use crate::number;
use crate::words::around;

/// The verdict of each statement, and under it each figure.
pub(crate) fn statements(checks: &[CheckSummary]) -> Vec<Block> {
    let heading = "Statements of the document, tested on these runs";
    let of = |check: &CheckSummary| Block::Verdict {
        verdict: check.verdict.name(),
        statement: check.statement.clone(),
        figures: check
            .claims
            .iter()
            .map(|claim| match check.claims.len() {
                1 => ("", sentence(claim)),
                _ => (claim.verdict.name(), sentence(claim)),
            })
            .collect(),
    };
    match checks {
        [] => Vec::new(),
        _ => std::iter::once(Block::Heading(heading.to_owned()))
            .chain(checks.iter().map(of))
            .collect(),
    }
}

/// `Send service demand, 1024 ÷ 8192 (UDP): 4.65 [3.02, 5.43]; expected 2 to 6`.
fn sentence(claim: &ClaimSummary) -> String {
    let title = metric(&claim.metric).map_or(claim.metric.as_str(), |metric| metric.title);
    let figure = around(", ", &claim.of, "");
    let place = around(" (", &phrase(&claim.levels), ")");
    let value = match &claim.interval {
        None => "no value: a cell of this claim has no result".to_owned(),
        Some(interval) if claim.runs < ENOUGH_RUNS => {
            let (value, runs) = (number::interval(interval), counted(claim.runs, "run"));
            format!("{value} (too few: {runs})")
        }
        Some(interval) => number::interval(interval),
    };
    format!("{title}{figure}{place}: {value}; expected {}", claim.bounds)
}
