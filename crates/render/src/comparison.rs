//! A comparison as Markdown and as JSON, and its sentences and rows for every form.

use bitcost_model::units::counted;
use serde_json::json;

use crate::levels::levels_json;
use crate::lines::Lines;
use crate::markdown_table::{escape, markdown_table};
use crate::number;
use crate::titles::named;
use bitcost_analysis::compare::{
    Change, ComparedCell, Comparison, Pairing, Shift, Unmatched, Verdict,
};
use bitcost_analysis::frame::{Table, Value};

/// The column with the number of runs on each side.
pub(crate) const RUNS: &str = "runs";

/// The comparison in Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let (old, new) = &comparison.names;
    let lists = [
        comparison_remarks(comparison),
        comparison_unmatched(comparison),
    ];
    let lists: String = lists.iter().map(|all| list(all)).collect();
    format!(
        "{} → {}\n\n{}\n\n{}\n{lists}{}\n",
        escape(old),
        escape(new),
        comparison_tally(comparison),
        markdown_table(&table(comparison)),
        comparison_method(comparison)
    )
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
    let machines = comparison.machine_differences.iter().cloned();
    let hosts = comparison
        .host_differences
        .iter()
        .map(|words| format!("hosts differ: {words}"));
    let constants = comparison
        .constant_differences
        .iter()
        .map(|words| format!("host constants differ: {words}"));
    let settings = comparison
        .setting_differences
        .iter()
        .map(|words| format!("settings differ: {words}"));
    let runs = comparison
        .run_remarks
        .iter()
        .chain(&comparison.known_to_one)
        .cloned();
    machines
        .chain(hosts)
        .chain(constants)
        .chain(settings)
        .chain(runs)
        .collect()
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
    let how = match (comparison.pairing, comparison.is_within) {
        (Pairing::Blocks, _) => {
            let paired = comparison.changes().filter(|change| change.is_paired).count();
            format!(
                "both sides in the same blocks; paired within them in {paired} of {}, which takes 5 blocks in which both sides vary together",
                counted(comparison.changes().count(), "change")
            )
        }
        (Pairing::Apart, true) => {
            "runs of other programs, which were not interleaved: not paired".to_owned()
        }
        (Pairing::Apart, false) => {
            "two executions, runs not paired: a change also contains everything else that differed between them".to_owned()
        }
    };
    format!(
        "Old and new are medians. Change: the middle of the changes of every new run from every old one, which can go the other way than the medians, with its 95 % interval (Student's with few runs, which is wide with 2). Threshold {} %; {how}. A verdict with `?` holds alone, and may be chance among all comparisons (Holm, 5 %).",
        comparison.threshold_pct
    )
}

/// The number of changes with each verdict, and how many of those to the worse hold among all:
/// `2 worse, 24 same; of 26 comparisons together 1 is worse`.
pub fn comparison_tally(comparison: &Comparison) -> String {
    let counts = Verdict::ALL
        .into_iter()
        .map(|verdict| (verdict.name(), comparison.count(verdict)));
    let counts: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let judged = comparison.judged_together();
    let clear: Vec<String> = [Verdict::Worse, Verdict::Better]
        .into_iter()
        .filter(|verdict| comparison.count(*verdict) > 0)
        .map(|verdict| format!("{} {}", comparison.count_holding(verdict), verdict.name()))
        .collect();
    match comparison.changes().count() {
        0 => "nothing to compare".to_owned(),
        _ if clear.is_empty() || judged < 2 => counts.join(", "),
        _ => format!(
            "{}; clear among {judged} comparisons: {}",
            counts.join(", "),
            clear.join(", ")
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
    let rows = table
        .rows
        .into_iter()
        .map(|row| (false, row.into_iter().map(words).collect()));
    Lines {
        header: table.columns,
        rows: rows.collect(),
    }
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
            verdict(change),
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
        let is_ranked = matches!(
            a.verdict,
            Verdict::Worse | Verdict::Better | Verdict::Changed
        );
        let by_size = || {
            let ((a_ratio, a_size), (b_ratio, b_size)) = (size(a), size(b));
            (b.holds.cmp(&a.holds))
                .then(a_ratio.cmp(&b_ratio))
                .then(b_size.total_cmp(&a_size))
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

/// The verdict; with a question mark where it may be chance among all comparisons.
fn verdict(change: &Change) -> String {
    let is_clear = change.holds || !matches!(change.verdict, Verdict::Worse | Verdict::Better);
    let mark = if is_clear { "" } else { "?" };
    format!("{}{mark}", change.verdict.name())
}

/// `+5.1 % [+3.0, +7.2]`, or in the metric's unit where there is no ratio.
pub(crate) fn shown(change: &Change) -> String {
    match &change.shift {
        None => "-".to_owned(),
        Some(shift @ Shift::Ratio(_)) => number::signed(&shift.change(), "%", 1),
        Some(Shift::Difference(difference)) => number::signed_like_plain(difference, change.unit()),
    }
}

/// The comparison as JSON: `old`, `new`, `same_blocks`, `threshold_pct`, `machine_differences`,
/// `host_differences`, `constant_differences`, `setting_differences`, `known_to_one_side`,
/// `run_remarks`, `cells` with `levels` and `changes`, `unmatched`. Absent values have no key.
pub fn comparison_json(comparison: &Comparison) -> serde_json::Value {
    let cells = comparison.cells.iter().map(|cell| {
        let levels = levels_json(&cell.levels);
        json!({ "levels": levels, "changes": cell.changes.iter().map(entry).collect::<Vec<_>>() })
    });
    let unmatched = comparison.unmatched.iter();
    let unmatched = unmatched.map(|only| {
        let mut entry = json!({ "cell": only.cell, "only_in": comparison.side(only.is_old) });
        if let Some(why) = &only.why {
            entry["why"] = json!(why);
        }
        entry
    });
    json!({
        "old": comparison.names.0,
        "new": comparison.names.1,
        "judged_together": comparison.judged_together(),
        "same_blocks": comparison.pairing == Pairing::Blocks,
        "threshold_pct": comparison.threshold_pct,
        "machine_differences": comparison.machine_differences,
        "host_differences": comparison.host_differences,
        "constant_differences": comparison.constant_differences,
        "setting_differences": comparison.setting_differences,
        "known_to_one_side": comparison.known_to_one,
        "run_remarks": comparison.run_remarks,
        "cells": cells.collect::<Vec<_>>(),
        "unmatched": unmatched.collect::<Vec<_>>(),
    })
}

fn entry(change: &Change) -> serde_json::Value {
    let mut entry = json!({
        "metric": change.metric.name,
        "old_runs": change.runs.0,
        "new_runs": change.runs.1,
        "paired": change.is_paired,
        "verdict": change.verdict.name().replace(' ', "_"),
        "clear": change.holds,
    });
    if let Some(chance) = change.chance {
        entry["chance"] = json!(chance);
    }
    let (old, new) = change.medians;
    let names = match &change.shift {
        Some(Shift::Difference(_)) => ["difference", "low", "high"],
        _ => ["change_pct", "low_pct", "high_pct"],
    };
    let told = change.shift.map(|shift| shift.change());
    let [value, low, high] = [
        told.map(|told| told.value),
        told.and_then(|told| told.low),
        told.and_then(|told| told.high),
    ];
    let numbers = [("old_median", old), ("new_median", new)]
        .into_iter()
        .chain(names.into_iter().zip([value, low, high]));
    for (name, number) in numbers {
        if let Some(number) = number {
            entry[name] = json!(number);
        }
    }
    entry
}
