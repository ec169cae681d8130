//! Compared cells whose runs know the time of soft interrupts by different means.

use super::settings::by_cells;
use crate::cells::CellSummary;
use crate::metrics::SoftirqMeans;

/// A sentence on the pairs of cells whose means differ, so that a change of their service demand
/// may be one of the means.
pub(super) fn softirq_differences(pairs: &[(&CellSummary, &CellSummary)]) -> Vec<String> {
    let differing = pairs
        .iter()
        .filter_map(|(old, new)| Some((difference(old, new)?, old.name())));
    by_cells(differing, pairs.len())
}

/// Absent where both have the same means, or where one side's method uses none.
fn difference(old: &CellSummary, new: &CellSummary) -> Option<String> {
    let (was, is) = (means(old), means(new));
    (was != is && !was.is_empty() && !is.is_empty()).then(|| {
        format!(
            "the method for the time of soft interrupts: was {}, is {}",
            in_words(&was),
            in_words(&is)
        )
    })
}

fn means(cell: &CellSummary) -> Vec<SoftirqMeans> {
    let mut means: Vec<SoftirqMeans> = cell.softirqs.iter().map(|(means, _)| *means).collect();
    means.sort();
    means
}

fn in_words(means: &[SoftirqMeans]) -> String {
    let words: Vec<&str> = means.iter().map(|means| means.words()).collect();
    words.join(" in some runs and ")
}
