//! A comparison in one sentence: what changed and by how much, or that nothing did.

use bitcost_analysis::compare::{Change, ComparedCell, Comparison, Verdict};
use bitcost_model::units::counted;

use crate::comparison::{in_order, refusals, shown};
use crate::number;
use crate::words::around;

/// The sentence. It names the largest change to the worse, without one the largest to the better,
/// and says of the others how many there are.
pub(crate) fn comparison_headline(comparison: &Comparison) -> String {
    let all = in_order(comparison);
    let largest = all.iter().find(|(_, change)| change.verdict.is_change());
    let words = match (refusals(comparison).into_iter().next(), largest) {
        (Some(refused), _) => refused,
        (None, Some(first)) => format!("{}{}", sentence(*first), others(comparison)),
        (None, None) if all.is_empty() => "Nothing could be compared".to_owned(),
        (None, None) => unchanged(comparison),
    };
    format!("{words}{}.", missing(comparison))
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

/// `; of 26 figures 2 are worse and 1 is better`; empty for one figure.
fn others(comparison: &Comparison) -> String {
    let all = comparison.changes().count();
    let of = |wanted: Verdict| {
        let count = comparison.count(wanted);
        let verb = if count == 1 { "is" } else { "are" };
        (count > 0).then(|| format!("{count} {verb} {}", wanted.name()))
    };
    let counts: Vec<String> = [Verdict::Worse, Verdict::Better, Verdict::Changed]
        .into_iter()
        .filter_map(of)
        .collect();
    match all {
        1 => String::new(),
        _ => format!("; of {all} figures {}", counts.join(" and ")),
    }
}

fn unchanged(comparison: &Comparison) -> String {
    let (same, open) = (
        comparison.count(Verdict::Same),
        comparison.count(Verdict::CannotTell),
    );
    let threshold = comparison.threshold_pct;
    let figures = |count: usize| counted(count, "figure");
    match (same, open) {
        (0, 0) => "No metric has a value on both sides".to_owned(),
        (_, 0) => format!(
            "Nothing changed: {} the same within {threshold} %",
            are(same)
        ),
        (0, _) => format!(
            "These runs do not show whether anything changed by {threshold} %: the intervals of {} are too wide",
            figures(open)
        ),
        _ => format!(
            "No change was found: {} the same within {threshold} %, and the intervals of {} are too wide to tell",
            are(same),
            figures(open)
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

/// What the new side lacks.
fn missing(comparison: &Comparison) -> String {
    match comparison.count(Verdict::Missing) {
        0 => String::new(),
        count => format!("; {} missing in {}", are(count), comparison.side(false)),
    }
}
