//! A comparison as text, as Markdown, as JSON, and the words and rows that a page takes.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table as Grid, presets};
use serde_json::{Map, Value as Json, json};

use super::{Change, Comparison, Pairing, Verdict, pct};
use crate::frame::{Table, Value, escape_markdown, markdown};
use crate::grid::Lines;
use crate::number;

/// The comparison for people: what differs between the hosts first, then a line per cell and metric.
pub fn comparison_text(comparison: &Comparison) -> String {
    let mut text = head(comparison, str::to_owned);
    let table = comparison_lines(comparison);
    let mut grid = Grid::new();
    grid.load_preset(presets::ASCII_MARKDOWN).set_header(&table.header);
    for (_, row) in &table.rows {
        grid.add_row(row);
    }
    for column in grid.column_iter_mut().skip(2).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    grid.lines().for_each(|line| text += &format!("{}\n", line.trim_end()));
    text + &foot(comparison, str::to_owned)
}

/// The same in Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let escape = |words: &str| escape_markdown(words);
    format!("{}{}\n{}", head(comparison, escape), markdown(&table(comparison)), foot(comparison, escape))
}

fn head(comparison: &Comparison, escape: impl Fn(&str) -> String) -> String {
    let (old, new) = &comparison.names;
    let mut text = format!("{} → {}\n", escape(old), escape(new));
    for difference in &comparison.host_differences {
        let _ = writeln!(text, "- hosts differ: {}", escape(difference));
    }
    let _ = writeln!(text, "{}\n", comparison_method(comparison));
    text
}

/// What the figures of a comparison are, and whether runs were paired: a sentence.
pub fn comparison_method(comparison: &Comparison) -> String {
    let how = match comparison.pairing {
        Pairing::Blocks => "both sides in the same blocks",
        Pairing::Apart => {
            "two executions, runs not paired: what changed between them beside the settings is in the change too"
        }
    };
    format!("Change in per cent with its 95 % interval; threshold {} %; {how}.", comparison.threshold_pct)
}

fn foot(comparison: &Comparison, escape: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    for (cell, side) in &comparison.unmatched {
        let _ = writeln!(text, "- only in {}: {}", escape(side), escape(cell));
    }
    let _ = writeln!(text, "{}", comparison_tally(comparison));
    text
}

/// How many changes have which verdict: `2 better, 4 same`.
pub fn comparison_tally(comparison: &Comparison) -> String {
    let counts = Verdict::ALL.into_iter().map(|verdict| (verdict.name(), comparison.count(verdict)));
    let counts: Vec<String> =
        counts.filter(|(_, count)| *count > 0).map(|(name, count)| format!("{count} {name}")).collect();
    if counts.is_empty() { "nothing to compare".to_owned() } else { counts.join(", ") }
}

/// The comparison as lines of words, one per cell and metric.
pub fn comparison_lines(comparison: &Comparison) -> Lines {
    let words = |value: Value| match value {
        Value::Text(words) => words,
        _ => "-".to_owned(),
    };
    let table = table(comparison);
    let rows = table.rows.into_iter().map(|row| (false, row.into_iter().map(words).collect()));
    Lines { header: table.columns, rows: rows.collect() }
}

fn table(comparison: &Comparison) -> Table {
    let mut table = Table::new(["cell", "metric", "old", "new", "change %", "verdict"]);
    for cell in &comparison.cells {
        let name = cell.name();
        table.rows.extend(cell.changes.iter().map(|change| {
            let metric = format!("{} ({})", change.metric.title, change.metric.unit);
            let (old, new) = change.medians;
            let words = [name.clone(), metric, number::plain(old), number::plain(new), shown(change)];
            let verdict = change.verdict.name().to_owned();
            words.into_iter().chain([verdict]).map(Value::Text).collect()
        }));
    }
    table
}

/// `+5.1 [+3.0, +7.2]`.
fn shown(change: &Change) -> String {
    let Some(ratio) = &change.ratio else { return "no ratio to 0".to_owned() };
    let value = format!("{:+.1}", pct(ratio.value));
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!("{value} [{:+.1}, {:+.1}]", pct(low), pct(high)),
        _ => value,
    }
}

/// The same as JSON: `old`, `new`, `paired`, `threshold_pct`, `host_differences`, `cells` with `levels` and `changes`,
/// `unmatched`. What has no value has no key.
pub fn comparison_json(comparison: &Comparison) -> Json {
    let cells = comparison.cells.iter().map(|cell| {
        let levels: Map<String, Json> =
            cell.levels.iter().map(|(factor, label)| (factor.clone(), json!(label))).collect();
        json!({ "levels": levels, "changes": cell.changes.iter().map(entry).collect::<Vec<_>>() })
    });
    let unmatched = comparison.unmatched.iter().map(|(cell, side)| json!({ "cell": cell, "only_in": side }));
    json!({
        "old": comparison.names.0,
        "new": comparison.names.1,
        "paired": comparison.pairing == Pairing::Blocks,
        "threshold_pct": comparison.threshold_pct,
        "host_differences": comparison.host_differences,
        "cells": cells.collect::<Vec<_>>(),
        "unmatched": unmatched.collect::<Vec<_>>(),
    })
}

fn entry(change: &Change) -> Json {
    let mut entry = json!({
        "metric": change.metric.name,
        "old_median": change.medians.0,
        "new_median": change.medians.1,
        "old_runs": change.runs.0,
        "new_runs": change.runs.1,
        "verdict": change.verdict.name().replace(' ', "_"),
    });
    if let Some(ratio) = &change.ratio {
        entry["change_pct"] = json!(pct(ratio.value));
        if let (Some(low), Some(high)) = (ratio.low, ratio.high) {
            (entry["low_pct"], entry["high_pct"]) = (json!(pct(low)), json!(pct(high)));
        }
    }
    entry
}
