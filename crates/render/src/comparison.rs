//! A comparison: a table of all changes, the worst first, what else differs, and the answer in a sentence.

use bitcost_analysis::compare::{Change, ComparedCell, Comparison, Shift, Verdict};
use bitcost_model::units::counted;

use crate::block::Block;
use crate::lines::Lines;
use crate::number;
use crate::words::{around, named};

pub fn comparison(comparison: &Comparison) -> Vec<Block> {
    let Comparison { old, new, .. } = comparison;
    let mut blocks = vec![Block::words(format!("{old} → {new}"))];
    blocks.extend(refusals(comparison).map(Block::words));
    let lines = comparison_lines(comparison);
    if !lines.rows.is_empty() {
        blocks.push(Block::Table(String::new(), lines));
    }
    blocks.extend(remarks(comparison));
    blocks.extend([
        Block::Gap,
        Block::words(comparison_method(comparison)),
        Block::Gap,
        Block::words(comparison_headline(comparison)),
        Block::words(comparison_tally(comparison)),
    ]);
    blocks
}

/// Why the sides cannot be compared, a sentence each.
fn refusals(comparison: &Comparison) -> impl Iterator<Item = String> {
    let reasons = comparison.not_comparable.iter();
    reasons.map(|why| format!("Not comparable: {why}"))
}

/// What differs in addition to the compared settings, and the cells that have no counterpart.
pub(crate) fn remarks(comparison: &Comparison) -> Vec<Block> {
    let all = [
        ("hosts differ: ", &comparison.host_differences),
        ("settings differ: ", &comparison.setting_differences),
        ("", &comparison.run_remarks),
        ("", &comparison.known_to_one),
    ];
    let remarks = all
        .into_iter()
        .flat_map(|(mark, all)| all.iter().map(move |words| format!("{mark}{words}")));
    let alone = [true, false].map(|is_old| unmatched(comparison, is_old));
    remarks
        .chain(alone.concat())
        .map(|words| Block::Note("- ".to_owned(), words))
        .collect()
}

/// The most cells of one side alone that are named.
const ALONE: usize = 30;

/// The cells of a side that have no counterpart, a sentence each; if it has many, only the first.
fn unmatched(comparison: &Comparison, is_old: bool) -> Vec<String> {
    let side = comparison.side(is_old);
    let all = comparison.unmatched.iter();
    let all: Vec<_> = all.filter(|only| only.is_old == is_old).collect();
    let named = all.iter().take(ALONE).map(|only| {
        let why = around(" (", only.why.as_deref().unwrap_or_default(), ")");
        format!("only in {side}: {}{why}", only.cell)
    });
    let more = all.len().saturating_sub(ALONE);
    let rest = (more > 0).then(|| format!("only in {side}: {}", counted(more, "more cell")));
    named.chain(rest).collect()
}

/// The method of a comparison's figures, and whether blocks were paired.
pub(crate) fn comparison_method(comparison: &Comparison) -> String {
    let all = comparison.changes().count();
    let paired = comparison.changes().filter(|change| change.is_paired);
    let how = match comparison.same_blocks {
        true => format!(
            "both sides in the same blocks; paired within them in {} of {}, which needs 5 blocks in which both sides vary together",
            paired.count(),
            counted(all, "change")
        ),
        false => "the blocks of both sides are independent".to_owned(),
    };
    format!(
        "Old and new are medians of blocks. Change: of the blocks' geometric means, with its 95 % interval (Welch, on logarithms). Threshold {} %; {how}. A verdict is a change that is clear among all comparisons (Holm, 5 %).",
        comparison.threshold_pct
    )
}

/// The number of changes with each verdict: `2 worse, 24 same`.
pub(crate) fn comparison_tally(comparison: &Comparison) -> String {
    let counts = Verdict::ALL.into_iter().filter_map(|verdict| {
        let count = comparison.count(verdict);
        (count > 0).then(|| format!("{count} {}", verdict.name()))
    });
    match counts.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "nothing to compare".to_owned(),
        counts => counts,
    }
}

/// Every change in words, one per cell and metric.
pub(crate) fn comparison_lines(comparison: &Comparison) -> Lines {
    let median = |median: Option<f64>| median.map_or("-".to_owned(), number::plain);
    let row = |(cell, change): (&ComparedCell, &Change)| {
        vec![
            cell.name(),
            named(change.metric),
            shown(change),
            change.verdict.name().to_owned(),
            median(change.old_median),
            median(change.new_median),
            format!("{}, {}", change.old_blocks, change.new_blocks),
        ]
    };
    let header = [
        "cell", "metric", "change", "verdict", "old", "new", "blocks",
    ];
    Lines::new(header, in_order(comparison).into_iter().map(row))
}

/// The order of verdicts: what got worse, what is missing, what got better, what else changed, what cannot be
/// determined, and what is the same.
const ORDER: [Verdict; 7] = [
    Verdict::Worse,
    Verdict::Missing,
    Verdict::Better,
    Verdict::Changed,
    Verdict::CannotTell,
    Verdict::Same,
    Verdict::NotComparable,
];

/// Every change with its cell, by its verdict, the largest first.
fn in_order(comparison: &Comparison) -> Vec<(&ComparedCell, &Change)> {
    let place = |change: &Change| {
        let order = ORDER.iter().position(|verdict| *verdict == change.verdict);
        let is_ratio = matches!(change.shift, Some(Shift::Ratio(_)));
        (order, change.verdict.is_change() && is_ratio)
    };
    let size = |change: &Change| match change.verdict.is_change() {
        true => change.shift.map_or(0.0, |shift| shift.change().value.abs()),
        false => 0.0,
    };
    let cells = comparison.cells.iter();
    let mut all: Vec<_> = cells
        .flat_map(|cell| cell.changes.iter().map(move |change| (cell, change)))
        .collect();
    all.sort_by(|(_, a), (_, b)| place(a).cmp(&place(b)).then(size(b).total_cmp(&size(a))));
    all
}

/// `+5.1 % [+3.0, +7.2]`, or in the metric's unit where there is no ratio.
fn shown(change: &Change) -> String {
    match &change.shift {
        None => "-".to_owned(),
        Some(shift @ Shift::Ratio(_)) => number::signed(&shift.change(), "%", 1),
        Some(Shift::Difference(difference)) => number::signed_like_plain(difference, change.unit()),
    }
}

/// What changed and by how much, or that nothing did. It names the largest change to the worse, without one the
/// largest to the better; the tally counts the others.
pub(crate) fn comparison_headline(comparison: &Comparison) -> String {
    let all = in_order(comparison);
    let largest = all.iter().find(|(_, change)| change.verdict.is_change());
    let words = match (refusals(comparison).next(), largest) {
        (Some(refused), _) => refused,
        (None, Some(first)) => sentence(*first),
        (None, None) if all.is_empty() => "Nothing could be compared".to_owned(),
        (None, None) => unchanged(comparison),
    };
    let new = &comparison.new;
    match comparison.count(Verdict::Missing) {
        0 => words + ".",
        count => format!("{words}; {} missing in {new}.", are(count)),
    }
}

/// `Throughput falls from 4600 to 3680 Mbit/s with 1024 · UDP (-20.0 % [-20.4, -19.6], worse)`.
fn sentence((cell, change): (&ComparedCell, &Change)) -> String {
    let median = |value: Option<f64>| value.map_or("no value".to_owned(), number::plain);
    let (old, new) = (median(change.old_median), median(change.new_median));
    let verb = match change.shift.map(|shift| shift.change().value) {
        Some(value) if value < 0.0 => "falls",
        _ => "rises",
    };
    let unit = around(" ", change.metric.unit, "");
    let place = around(" with ", &cell.name(), "");
    let (title, verdict) = (change.metric.title, change.verdict.name());
    let change = shown(change);
    format!("{title} {verb} from {old} to {new}{unit}{place} ({change}, {verdict})")
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
