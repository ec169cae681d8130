//! What changes the answer of a study, for its first screen: costs that are not known, and warnings
//! that say what the figures mean, the worst first.

use bitcost_analysis::explain::Explanation;
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::summary::{Summary, shown_metrics};

use crate::answer::lowered;

/// The most lines of warnings.
const LINES: usize = 3;

/// The warnings that change the answer, the worst first.
const ORDER: [&str; 3] = ["emulator_trouble", "foreign_load", "wire_limits"];

/// What changes the answer, and the number of warnings that are left.
pub(crate) struct Decisive {
    /// One sentence each, without a full stop.
    pub lines: Vec<String>,
    /// Warnings of which no line says anything.
    pub others: usize,
}

/// The lines of an execution, without what its first sentences already say.
pub(crate) fn decisive(summary: &Summary, explanation: &Explanation, said: &str) -> Decisive {
    let of = |name: &&str| {
        let warnings = explanation.warnings.iter();
        let named = warnings.filter(move |warning| warning.name == *name);
        named
            .filter_map(|warning| warning.headline.clone())
            .collect::<Vec<_>>()
    };
    let headlines: Vec<String> = ORDER.iter().flat_map(of).take(LINES).collect();
    let others = explanation.warnings.len() - headlines.len();
    let lines = headlines
        .into_iter()
        .chain(without_cost(summary, said))
        .collect();
    Decisive { lines, others }
}

/// `8 of 8 cells have no send service demand: REASON`; absent where no shown figure of CPU time is
/// missing, or the first sentences give the reason.
fn without_cost(summary: &Summary, said: &str) -> Option<String> {
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
        if said.contains(reason.as_str()) {
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
