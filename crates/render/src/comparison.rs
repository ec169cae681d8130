//! A comparison as Markdown and as JSON, and its sentences and rows for every form.

use bitcost_model::units::counted;
use serde_json::json;

use crate::json_parts::{levels_json, without_null};
use crate::lines::Lines;
use crate::markdown_table::{escape, markdown_table};
use crate::number;
use crate::titles::named;
use bitcost_analysis::compare::{Change, ComparedCell, Comparison, Shift, Unmatched, Verdict};
use bitcost_analysis::frame::{Table, Value};

/// The columns that are left out first where there is little room: blocks on each side, and medians.
pub(crate) const BLOCKS: &str = "blocks";
pub(crate) const MEDIANS: [&str; 2] = ["old", "new"];

/// The comparison in Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let (old, new) = &comparison.names;
    let first: String = refusals(comparison)
        .into_iter()
        .map(|words| format!("{}.\n\n", escape(&words)))
        .collect();
    let lists = [
        comparison_remarks(comparison),
        comparison_unmatched(comparison),
    ];
    let lists: String = lists.iter().map(|all| list(all)).collect();
    format!(
        "{} → {}\n\n{first}{}\n\n{}\n{lists}{}\n",
        escape(old),
        escape(new),
        comparison_tally(comparison),
        markdown_table(&table(comparison)),
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

/// A list in Markdown with an empty line after it; empty for an empty list.
fn list(all: &[String]) -> String {
    let lines: String = all
        .iter()
        .map(|words| format!("- {}\n", escape(words)))
        .collect();
    if lines.is_empty() {
        lines
    } else {
        format!("{lines}\n")
    }
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
    let sentence = |only: &&Unmatched| {
        let why = only
            .why
            .as_ref()
            .map_or(String::new(), |why| format!(" ({why})"));
        format!(
            "only in {}: {}{why}",
            comparison.side(only.is_old),
            only.cell
        )
    };
    let of_side = |is_old: bool| {
        let all: Vec<&Unmatched> = comparison
            .unmatched
            .iter()
            .filter(|only| only.is_old == is_old)
            .collect();
        let more = all.len().saturating_sub(ALONE);
        let rest = (more > 0).then(|| {
            format!(
                "only in {}: {}",
                comparison.side(is_old),
                counted(more, "more cell")
            )
        });
        all.iter()
            .take(ALONE)
            .map(sentence)
            .chain(rest)
            .collect::<Vec<_>>()
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
    let counts = Verdict::ALL
        .into_iter()
        .map(|verdict| (verdict.name(), comparison.count(verdict)));
    let counts: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    match counts.is_empty() {
        true => "nothing to compare".to_owned(),
        false => counts.join(", "),
    }
}

/// The comparison as lines of words, one per cell and metric.
pub fn comparison_lines(comparison: &Comparison) -> Lines {
    let words = |value: Value| match value {
        Value::Text(words) => words,
        _ => "-".to_owned(),
    };
    let table = table(comparison);
    let rows = table.rows.into_iter();
    let rows = rows.map(|row| row.into_iter().map(words).collect());
    Lines::new(table.columns, rows)
}

fn table(comparison: &Comparison) -> Table {
    let mut table = Table::new(["cell", "metric", "old", "new", BLOCKS, "change", "verdict"]);
    let median = |median: Option<f64>| median.map_or("-".to_owned(), number::plain);
    let row = |(cell, change): (&ComparedCell, &Change)| {
        let ((old, new), (old_blocks, new_blocks)) = (change.medians, change.blocks);
        let words = [cell.name(), named(change.metric), median(old), median(new)];
        let others = [
            format!("{old_blocks}, {new_blocks}"),
            shown(change),
            change.verdict.name().to_owned(),
        ];
        words.into_iter().chain(others).map(Value::Text).collect()
    };
    table.rows.extend(in_order(comparison).into_iter().map(row));
    table
}

/// Every change with its cell: what got worse, the most first, what is missing, what got better,
/// what else changed, what cannot be determined, and what is the same.
pub(crate) fn in_order(comparison: &Comparison) -> Vec<(&ComparedCell, &Change)> {
    let place = |verdict: Verdict| match verdict {
        Verdict::Worse => 0,
        Verdict::Missing => 1,
        Verdict::Better => 2,
        Verdict::Changed => 3,
        Verdict::CannotTell => 4,
        Verdict::Same => 5,
        Verdict::NotComparable => 6,
    };
    let size = |change: &Change| {
        let shift = change.shift.map_or(0.0, |shift| shift.change().value);
        let is_ratio = matches!(change.shift, Some(Shift::Ratio(_)));
        (is_ratio, shift.abs())
    };
    let cells = comparison.cells.iter();
    let mut all: Vec<_> = cells
        .flat_map(|cell| cell.changes.iter().map(move |change| (cell, change)))
        .collect();
    all.sort_by(|(_, a), (_, b)| {
        let is_ranked = a.verdict.is_change();
        let by_size = || {
            let ((a_ratio, a_size), (b_ratio, b_size)) = (size(a), size(b));
            (a_ratio.cmp(&b_ratio)).then(b_size.total_cmp(&a_size))
        };
        place(a.verdict).cmp(&place(b.verdict)).then_with(|| {
            if is_ranked {
                by_size()
            } else {
                std::cmp::Ordering::Equal
            }
        })
    });
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
