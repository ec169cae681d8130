//! What changes the answer of a study, for its first screen: costs that are not known, and warnings
//! that say what the figures mean, the worst first.

use bitcost_analysis::caveat::Caveat;
use bitcost_analysis::explain::Warning;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::summary::{Summary, shown_metrics};

use super::words::lowered;

/// The weight of a figure that is absent, which misleads nobody.
const ABSENT: f64 = 0.05;

/// The most lines of warnings.
const LINES: usize = 3;

/// What changes the answer, one sentence each without a full stop and without what its first
/// sentences already say; and the number of warnings of which none says anything.
pub(super) fn decisive(findings: &Findings, said: &[String]) -> (Vec<Caveat>, usize) {
    let (summary, warnings) = (&findings.summary, &findings.explanation.warnings);
    let of = |warning: &Warning| Some(Caveat::new(warning.weight, warning.headline.clone()?));
    let headlines: Vec<Caveat> = warnings.iter().filter_map(of).take(LINES).collect();
    let others = warnings.len() - headlines.len();
    let lines = headlines
        .into_iter()
        .chain(without_cost(summary, said).map(|words| Caveat::new(ABSENT, words)))
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
