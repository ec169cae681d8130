//! A comparison as Markdown and as JSON, and its sentences and rows for every form.

use bitcost_model::units::counted;
use serde_json::json;

use crate::json_parts::{levels_json, without_null};
use crate::lines::Lines;
use crate::markdown_table::{escape, markdown_table};
use crate::number;
use crate::titles::named;
use bitcost_analysis::compare::{
    BETWEEN_LEAST, Change, ComparedCell, Comparison, Pairing, Shift, Together, Unmatched, Verdict,
};
use bitcost_analysis::frame::{Table, Value};

/// The column with the number of runs on each side.
pub(crate) const RUNS: &str = "runs";

/// The comparison in Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let (old, new) = &comparison.names;
    let first: String = refusals(comparison)
        .into_iter()
        .chain(
            moved_together(comparison)
                .into_iter()
                .map(|(_, words)| words),
        )
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

/// Caveats, a sentence each: what differs in addition to the compared settings, the likely causes of
/// changes first.
pub fn comparison_remarks(comparison: &Comparison) -> Vec<String> {
    let all = [
        ("", &comparison.machine_differences),
        ("hosts differ: ", &comparison.host_differences),
        ("host constants differ: ", &comparison.constant_differences),
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

/// The method of a comparison's figures, and whether runs were paired: two sentences.
pub fn comparison_method(comparison: &Comparison) -> String {
    let paired = comparison.changes().filter(|change| change.is_paired);
    let paired = paired.count();
    let how = match (comparison.pairing, comparison.is_within) {
        (Pairing::Blocks, _) => {
            format!(
                "both sides in the same blocks; paired within them in {paired} of {}, which needs 5 blocks in which both sides vary together",
                counted(comparison.changes().count(), "change")
            )
        }
        (Pairing::Duet, _) => {
            format!(
                "the two runs of a block follow each other, and {paired} of {} are of such pairs, in which both were made in one state of the machine",
                counted(comparison.changes().count(), "change")
            )
        }
        (Pairing::Apart, true) => {
            "runs of other programs, which were not interleaved: not paired".to_owned()
        }
        (Pairing::Apart, false) => between_executions(comparison.executions),
    };
    let change = match (comparison.pairing, comparison.is_within) {
        (Pairing::Apart, false) => {
            "Change: of runs in one state of the machine, at equal speed of the CPUs"
        }
        _ => "Change: the middle of the changes of every new run from every old one, or of pairs",
    };
    format!(
        "Old and new are medians. {change}, whose direction can differ from that of the medians, with its 95 % interval. Threshold {} %; {how}. A verdict is a change that is clear among all comparisons (Holm, 5 %).",
        comparison.threshold_pct
    )
}

/// What the intervals contain of the differences between executions.
fn between_executions((old, new): (usize, usize)) -> String {
    match (old, new) {
        (1, 1) => format!(
            "one execution on each side, so it is assumed that executions differ by {} % and by half as much as their runs (standard deviation); several on each side measure it (--old A B --new C D)",
            100.0 * BETWEEN_LEAST
        ),
        _ => format!(
            "{} and {}: the intervals include the differences between executions, measured here and moderated by an assumption",
            counted(old, "old execution"),
            counted(new, "new one")
        ),
    }
}

/// What most cells have in common, a sentence for each metric of which that is clear.
pub(crate) fn moved_together(comparison: &Comparison) -> Vec<(Verdict, String)> {
    let sentence = |found: &Together| {
        let change = found.shift.change();
        let verb = if change.value < 0.0 { "falls" } else { "rises" };
        let (cells, alike) = found.cells;
        let of_cells = match cells == alike {
            true => format!("all {cells} cells"),
            false => format!("{alike} of {cells} cells"),
        };
        let words = format!(
            "{} {verb} in {of_cells}: {} on average{}",
            found.metric.title,
            number::signed(&change, "%", 1),
            by_speed(Some(found.by_speed_pct))
        );
        (found.verdict, words)
    };
    comparison.moved_together().map(sentence).collect()
}

/// `; the CPUs' speed explains another -5.0 %`; empty for less than half a per cent.
pub(crate) fn by_speed(pct: Option<f64>) -> String {
    match pct.filter(|pct| pct.abs() >= 0.5) {
        Some(pct) => format!("; the CPUs' speed explains another {pct:+.1} %"),
        None => String::new(),
    }
}

/// The number of changes with each verdict: `2 worse, 24 same`; and how many executions would
/// tell a change of the threshold in half of the comparisons that are not decided.
pub fn comparison_tally(comparison: &Comparison) -> String {
    let counts = Verdict::ALL
        .into_iter()
        .map(|verdict| (verdict.name(), comparison.count(verdict)));
    let counts: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let needed = comparison
        .changes()
        .filter_map(|change| change.executions_needed);
    let mut needed: Vec<usize> = needed.collect();
    needed.sort_unstable();
    match (comparison.changes().count(), needed.get(needed.len() / 2)) {
        (0, _) => "nothing to compare".to_owned(),
        (_, None) => counts.join(", "),
        (_, Some(needed)) => format!(
            "{}; about {needed} executions on each side would detect a change of {} % in half of the undecided comparisons",
            counts.join(", "),
            comparison.threshold_pct
        ),
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
    let mut table = Table::new(["cell", "metric", "old", "new", RUNS, "change", "verdict"]);
    let median = |median: Option<f64>| median.map_or("-".to_owned(), number::plain);
    let row = |(cell, change): (&ComparedCell, &Change)| {
        let ((old, new), (old_runs, new_runs)) = (change.medians, change.runs);
        let words = [cell.name(), named(change.metric), median(old), median(new)];
        let others = [
            format!("{old_runs}, {new_runs}"),
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

/// The comparison as JSON: `old`, `new`, `same_blocks`, `old_executions`,
/// `new_executions`, `not_comparable` (reasons), `together` (what all cells have in common), `threshold_pct`, `machine_differences`,
/// `host_differences`, `constant_differences`, `setting_differences`, `known_to_one_side`,
/// `run_remarks`, `cells` with `levels` and `changes`, `unmatched`. Absent values have no key.
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
        "same_blocks": comparison.pairing != Pairing::Apart,
        "old_executions": comparison.executions.0,
        "new_executions": comparison.executions.1,
        "not_comparable": comparison.not_comparable,
        "together": comparison.together.iter().map(together).collect::<Vec<_>>(),
        "threshold_pct": comparison.threshold_pct,
        "machine_differences": comparison.machine_differences,
        "host_differences": comparison.host_differences,
        "constant_differences": comparison.constant_differences,
        "setting_differences": comparison.setting_differences,
        "known_to_one_side": comparison.known_to_one,
        "run_remarks": comparison.run_remarks,
        "cells": cells.collect::<Vec<_>>(),
        "unmatched": unmatched.collect::<Vec<_>>(),
    }))
}

fn together(found: &Together) -> serde_json::Value {
    let change = found.shift.change();
    json!({
        "metric": found.metric.name,
        "cells": found.cells.0,
        "cells_in_this_direction": found.cells.1,
        "change_pct": change.value,
        "low_pct": change.low,
        "high_pct": change.high,
        "explained_by_speed_pct": found.by_speed_pct,
        "verdict": found.verdict.name().replace(' ', "_"),
    })
}

fn entry(change: &Change) -> serde_json::Value {
    let names = match &change.shift {
        Some(Shift::Difference(_)) => ["difference", "low", "high"],
        _ => ["change_pct", "low_pct", "high_pct"],
    };
    let shift = change.shift.map(|shift| shift.change());
    json!({
        "metric": change.metric.name,
        "old_runs": change.runs.0,
        "new_runs": change.runs.1,
        "paired": change.is_paired,
        "verdict": change.verdict.name().replace(' ', "_"),
        "chance": change.chance,
        "explained_by_speed_pct": change.by_speed_pct,
        "executions_needed": change.executions_needed.map(|count| count as f64),
        "old_median": change.medians.0,
        "new_median": change.medians.1,
        names[0]: shift.map(|shift| shift.value),
        names[1]: shift.and_then(|shift| shift.low),
        names[2]: shift.and_then(|shift| shift.high),
    })
}
