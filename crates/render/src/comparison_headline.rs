//! A comparison in one sentence: what changed and by how much, or that nothing did.

use bitcost_analysis::compare::{Change, ComparedCell, Comparison, Verdict};

use crate::comparison::{in_order, refusals, shown};
use crate::number;
use crate::words::around;

/// The sentence. It names the largest change to the worse, without one the largest to the better;
/// the tally counts the others.
pub(crate) fn comparison_headline(comparison: &Comparison) -> String {
    let all = in_order(comparison);
    let largest = all.iter().find(|(_, change)| change.verdict.is_change());
    let words = match (refusals(comparison).into_iter().next(), largest) {
        (Some(refused), _) => refused,
        (None, Some(first)) => sentence(*first),
        (None, None) if all.is_empty() => "Nothing could be compared".to_owned(),
        (None, None) => unchanged(comparison),
    };
    match comparison.count(Verdict::Missing) {
        0 => words + ".",
        count => format!(
            "{words}; {} missing in {}.",
            are(count),
            comparison.side(false)
        ),
    }
}

/// `Throughput falls from 4600 to 3680 Mbit/s with 1024 · UDP (-20.0 % [-20.4, -19.6], worse)`.
fn sentence((cell, change): (&ComparedCell, &Change)) -> String {
    let median = |value: Option<f64>| value.map_or("no value".to_owned(), number::plain);
    let (old, new) = (median(change.medians.0), median(change.medians.1));
    let verb = match change.shift.map(|shift| shift.change().value) {
        Some(value) if value < 0.0 => "falls",
        _ => "rises",
    };
    let figures = format!("from {old} to {new} {}", change.metric.unit);
    let name = cell.name();
    let place = around(" with ", &name, "");
    format!(
        "{} {verb} {}{place} ({}, {})",
        change.metric.title,
        figures.trim_end(),
        shown(change),
        change.verdict.name()
    )
}

fn unchanged(comparison: &Comparison) -> String {
    let threshold = comparison.threshold_pct;
    let counts = [Verdict::Same, Verdict::CannotTell].map(|of| comparison.count(of));
    let [same, open] = counts.map(are);
    match counts {
        [0, 0] => "No metric has a value on both sides".to_owned(),
        [_, 0] => format!("No change was found: {same} the same within {threshold} %"),
        [0, _] => format!(
            "These runs do not show whether anything changed by {threshold} %: {open} too uncertain to tell"
        ),
        _ => format!(
            "No change was found: {same} the same within {threshold} %, and {open} too uncertain to tell"
        ),
    }
}

/// `3 figures are`, `1 figure is`.
fn are(count: usize) -> String {
    match count {
        1 => "1 figure is".to_owned(),
        _ => format!("{count} figures are"),
    }
}
