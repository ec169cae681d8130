//! What the intervals of figures are, by the number of runs that they come from.

use bitcost_analysis::cells::{COVERED_FROM, CellSummary, coverage_pct};

/// `95 % intervals`; where cells have fewer runs than that takes, what theirs are.
pub(crate) fn intervals<'a>(cells: impl Iterator<Item = &'a CellSummary>) -> String {
    let several = cells.map(|cell| cell.runs).filter(|runs| *runs > 1);
    of_runs(several.min().unwrap_or(COVERED_FROM))
}

/// The same for this number of runs.
pub(crate) fn of_runs(runs: usize) -> String {
    match runs {
        runs if runs >= COVERED_FROM => "95 % intervals".to_owned(),
        runs => format!(
            "intervals (minimum and maximum of {runs} runs: {:.0} % instead of 95 %)",
            coverage_pct(runs)
        ),
    }
}
