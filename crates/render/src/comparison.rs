//! A comparison as Markdown and as JSON, and its sentences and rows for every form.

use bitcost_model::units::counted;
use serde_json::json;

use crate::json_parts::{levels_json, without_null};
use crate::lines::Lines;
use crate::markdown_table::escape;
use crate::number;
use crate::titles::named;
use crate::words::around;
use bitcost_analysis::compare::{Change, ComparedCell, Comparison, Shift, Verdict};

/// The comparison in Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let (old, new) = &comparison.names;
    let refused = refusals(comparison).into_iter();
    let refused = refused.map(|words| format!("{}.\n\n", escape(&words)));
    // A list ends at a blank line.
    let list = |all: Vec<String>| {
        let lines = all.iter().map(|words| format!("- {}\n", escape(words)));
        around("", &lines.collect::<String>(), "\n")
    };
    let remarks = list(comparison_remarks(comparison)) + &list(comparison_unmatched(comparison));
    format!(
        "{} → {}\n\n{}{}\n\n{}\n{remarks}{}\n",
        escape(old),
        escape(new),
        refused.collect::<String>(),
        comparison_tally(comparison),
        comparison_lines(comparison).markdown(),
        comparison_method(comparison)
    )
}

/// Why the sides cannot be compared, a sentence each.
pub(crate) fn refusals(comparison: &Comparison) -> Vec<String> {
    let reasons = comparison.not_comparable.iter();
    reasons
        .map(|why| format!("Not comparable: {why}"))
        .collect()
}

/// Caveats, a sentence each: what differs in addition to the compared settings.
pub fn comparison_remarks(comparison: &Comparison) -> Vec<String> {
    let all = [
        ("hosts differ: ", &comparison.host_differences),
        ("settings differ: ", &comparison.setting_differences),
        ("", &comparison.run_remarks),
        ("", &comparison.known_to_one),
    ];
    let marked = |(mark, all): (&str, &Vec<String>)| -> Vec<String> {
        all.iter().map(|words| format!("{mark}{words}")).collect()
    };
    all.map(marked).concat()
}

/// The most cells of one side alone that are named.
const ALONE: usize = 30;

/// The cells that have no counterpart, a sentence each; if a side has many, only the first.
pub fn comparison_unmatched(comparison: &Comparison) -> Vec<String> {
    let of_side = |is_old: bool| {
        let side = comparison.side(is_old);
        let all = || {
            comparison
                .unmatched
                .iter()
                .filter(|only| only.is_old == is_old)
        };
        let named = all().take(ALONE).map(|only| {
            let why = around(" (", only.why.as_deref().unwrap_or_default(), ")");
            format!("only in {side}: {}{why}", only.cell)
        });
        let more = all().count().saturating_sub(ALONE);
        let rest = (more > 0).then(|| format!("only in {side}: {}", counted(more, "more cell")));
        named.chain(rest).collect::<Vec<_>>()
    };
    [of_side(true), of_side(false)].concat()
}

/// The method of a comparison's figures, and whether blocks were paired.
pub fn comparison_method(comparison: &Comparison) -> String {
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
pub fn comparison_tally(comparison: &Comparison) -> String {
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
pub fn comparison_lines(comparison: &Comparison) -> Lines {
    let median = |median: Option<f64>| median.map_or("-".to_owned(), number::plain);
    let row = |(cell, change): (&ComparedCell, &Change)| {
        let ((old, new), (old_blocks, new_blocks)) = (change.medians, change.blocks);
        vec![
            cell.name(),
            named(change.metric),
            shown(change),
            change.verdict.name().to_owned(),
            median(old),
            median(new),
            format!("{old_blocks}, {new_blocks}"),
        ]
    };
    let header = [
        "cell", "metric", "change", "verdict", "old", "new", "blocks",
    ];
    Lines::new(header, in_order(comparison).into_iter().map(row))
}

/// Every change with its cell: what got worse, the most first, what is missing, what got better,
/// what else changed, what cannot be determined, and what is the same.
pub(crate) fn in_order(comparison: &Comparison) -> Vec<(&ComparedCell, &Change)> {
    let place = |change: &Change| {
        let order = match change.verdict {
            Verdict::Worse => 0,
            Verdict::Missing => 1,
            Verdict::Better => 2,
            Verdict::Changed => 3,
            Verdict::CannotTell => 4,
            Verdict::Same => 5,
            Verdict::NotComparable => 6,
        };
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
pub(crate) fn shown(change: &Change) -> String {
    match &change.shift {
        None => "-".to_owned(),
        Some(shift @ Shift::Ratio(_)) => number::signed(&shift.change(), "%", 1),
        Some(Shift::Difference(difference)) => number::signed_like_plain(difference, change.unit()),
    }
}

/// The comparison as JSON: `old`, `new`, `same_blocks`, `old_executions`, `new_executions`, `judged_together`,
/// `not_comparable` (reasons), `threshold_pct`, `host_differences`, `setting_differences`, `known_to_one_side`,
/// `run_remarks`, `cells` with `levels` and `changes`, `unmatched`. Absent values have
/// no key.
pub fn comparison_json(comparison: &Comparison) -> serde_json::Value {
    let cells = comparison.cells.iter().map(|cell| {
        let changes: Vec<_> = cell.changes.iter().map(entry).collect();
        json!({ "levels": levels_json(&cell.levels), "changes": changes })
    });
    let unmatched = comparison.unmatched.iter().map(|only| {
        json!({ "cell": only.cell, "only_in": comparison.side(only.is_old), "why": only.why })
    });
    without_null(json!({
        "old": comparison.names.0,
        "new": comparison.names.1,
        "judged_together": comparison.judged_together(),
        "same_blocks": comparison.same_blocks,
        "old_executions": comparison.executions.0,
        "new_executions": comparison.executions.1,
        "not_comparable": comparison.not_comparable,
        "threshold_pct": comparison.threshold_pct,
        "host_differences": comparison.host_differences,
        "setting_differences": comparison.setting_differences,
        "known_to_one_side": comparison.known_to_one,
        "run_remarks": comparison.run_remarks,
        "cells": cells.collect::<Vec<_>>(),
        "unmatched": unmatched.collect::<Vec<_>>(),
    }))
}

fn entry(change: &Change) -> serde_json::Value {
    let names = match &change.shift {
        Some(Shift::Difference(_)) => ["difference", "low", "high"],
        _ => ["change_pct", "low_pct", "high_pct"],
    };
    let shift = change.shift.map(|shift| shift.change());
    json!({
        "metric": change.metric.name,
        "old_blocks": change.blocks.0,
        "new_blocks": change.blocks.1,
        "paired": change.is_paired,
        "verdict": change.verdict.name().replace(' ', "_"),
        "chance": change.chance,
        "old_median": change.medians.0,
        "new_median": change.medians.1,
        names[0]: shift.map(|shift| shift.value),
        names[1]: shift.and_then(|shift| shift.low),
        names[2]: shift.and_then(|shift| shift.high),
    })
}
