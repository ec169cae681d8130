//! What changes the answer of a study, for its first screen: costs that are not known, and warnings
//! that say what the figures mean, the worst first.

use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::summary::{Summary, shown_metrics};

use super::words::lowered;

/// The most lines of warnings.
const LINES: usize = 3;

/// The warnings that change the answer, the worst first.
const ORDER: [&str; 3] = ["emulator_trouble", "foreign_load", "wire_limits"];

/// What changes the answer, one sentence each without a full stop and without what its first
/// sentences already say; and the number of warnings of which none says anything.
pub(super) fn decisive(findings: &Findings, said: &[String]) -> (Vec<String>, usize) {
    let (summary, warnings) = (&findings.summary, &findings.explanation.warnings);
    let of = |name: &&str| {
        let named = warnings.iter().filter(move |warning| warning.name == *name);
        named
            .filter_map(|warning| warning.headline.clone())
            .collect::<Vec<_>>()
    };
    let headlines: Vec<String> = ORDER.iter().flat_map(of).take(LINES).collect();
    let others = warnings.len() - headlines.len();
    let lines = headlines
        .into_iter()
        .chain(without_cost(summary, said))
        .collect();
    (lines, others)
}

/// `8 of 8 cells have no send service demand: REASON`; absent where no shown figure of CPU time is
/// missing, or the first sentences give the reason.
fn without_cost(summary: &Summary, said: &[String]) -> Option<String> {
    let shown = shown_metrics(summary).into_iter().filter_map(metric);
    let lacking = |metric: &Metric| {
        let cells = summary
            .cells
            .iter()
            .filter(|cell| !cell.unattributed.is_empty());
        let without: Vec<_> = cells
            .filter(|cell| cell.figure(metric.name).is_none())
            .collect();
        let first = without.first()?;
        let (reason, _) = first.unattributed.first()?;
        if said.contains(reason) {
            return None;
        }
        Some(format!(
            "{} of {} cells have no {}: {reason}",
            without.len(),
            summary.cells.len(),
            lowered(metric.title)
        ))
    };
    let without = |metric: &&Metric| {
        metric.attributed
            && summary
                .cells
                .iter()
                .any(|cell| cell.figure(metric.name).is_none())
    };
    shown
        .filter(|metric| without(metric))
        .take(1)
        .find_map(lacking)
}
