//! A comparison as text, as Markdown and as JSON, and its sentences and rows for the report page.

use bitcost_model::units::counted;
use comfy_table::{CellAlignment, Table as Grid, presets};
use serde_json::json;

use crate::column_width::fit;
use crate::layout::paragraph;
use crate::levels::levels_json;
use crate::lines::Lines;
use crate::markdown_table::{escape, markdown_table};
use crate::number;
use crate::titles::named;
use bitcost_analysis::compare::{Change, Comparison, Pairing, Shift, Unmatched, Verdict};
use bitcost_analysis::frame::{Table, Value};

/// The column with the number of runs on each side.
const RUNS: &str = "runs";

/// The comparison for people, at most `width` columns wide where a width is given: first what
/// differs between the hosts, then a line per cell and metric.
pub fn comparison_text(comparison: &Comparison, width: Option<u16>) -> String {
    let paragraph =
        |mark: &str, words: &str| paragraph(mark, words, width.map_or(usize::MAX, usize::from));
    let mut text = head(comparison, paragraph, one_line);
    let table = comparison_lines(comparison);
    if !table.rows.is_empty() {
        grid(&table, width)
            .lines()
            .for_each(|line| text += &format!("{}\n", line.trim_end()));
        text.push('\n');
    }
    text + &foot(comparison, paragraph, one_line)
}

/// Words from other people's logs on one line.
fn one_line(words: &str) -> String {
    words
        .chars()
        .map(|letter| {
            if letter.is_control() {
                '\u{fffd}'
            } else {
                letter
            }
        })
        .collect()
}

/// The table; if it is too narrow, without the number of runs on each side.
fn grid(table: &Lines, width: Option<u16>) -> Grid {
    let mut whole = plain_grid(table, &[]);
    match width {
        Some(width) if !fit(&mut whole, width) => {
            let mut narrow = plain_grid(table, &[RUNS]);
            fit(&mut narrow, width);
            narrow
        }
        _ => whole,
    }
}

/// The table without the columns that are left out.
fn plain_grid(table: &Lines, left_out: &[&str]) -> Grid {
    let is_kept = |place: &usize| !left_out.contains(&table.header[*place].as_str());
    let kept: Vec<usize> = (0..table.header.len()).filter(is_kept).collect();
    let words = |row: &[String]| {
        kept.iter()
            .map(|place| one_line(&row[*place]))
            .collect::<Vec<_>>()
    };
    let mut grid = Grid::new();
    grid.load_preset(presets::ASCII_MARKDOWN)
        .set_header(words(&table.header));
    table.rows.iter().for_each(|(_, row)| {
        grid.add_row(words(row));
    });
    for column in grid.column_iter_mut().skip(2).take(kept.len() - 3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    grid
}

/// The same in Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let (escape, line) = (
        |words: &str| escape(words),
        |mark: &str, words: &str| format!("{mark}{words}\n"),
    );
    let (head, foot) = (
        head(comparison, line, escape),
        foot(comparison, line, escape),
    );
    format!("{head}{}\n{foot}", markdown_table(&table(comparison)))
}

/// Names, remarks and the method, each part with an empty line after it.
fn head(
    comparison: &Comparison,
    line: impl Fn(&str, &str) -> String,
    escape: impl Fn(&str) -> String,
) -> String {
    let (old, new) = &comparison.names;
    let names = format!("{} → {}\n", escape(old), escape(new));
    let remarks = list(&comparison_remarks(comparison), &line, &escape);
    format!(
        "{names}\n{remarks}{}\n",
        line("", &comparison_method(comparison))
    )
}

/// A list with an empty line after it; empty for an empty list.
fn list(
    all: &[String],
    line: impl Fn(&str, &str) -> String,
    escape: impl Fn(&str) -> String,
) -> String {
    let lines: String = all.iter().map(|words| line("- ", &escape(words))).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("{lines}\n")
    }
}

/// Caveats before the changes, a sentence each: what differs in addition to the compared settings.
pub fn comparison_remarks(comparison: &Comparison) -> Vec<String> {
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
    hosts.chain(constants).chain(settings).chain(runs).collect()
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
            "both sides in the same blocks, paired within them where that is surer"
        }
        (Pairing::Apart, true) => "runs of other programs, which were not interleaved: not paired",
        (Pairing::Apart, false) => {
            "two executions, runs not paired: a change also contains everything else that differed between them"
        }
    };
    format!(
        "Change: the middle of the changes of every new run from every old one, not the difference of the medians, with its 95 % interval. Threshold {} %; {how}.",
        comparison.threshold_pct
    )
}

fn foot(
    comparison: &Comparison,
    line: impl Fn(&str, &str) -> String,
    escape: impl Fn(&str) -> String,
) -> String {
    list(&comparison_unmatched(comparison), &line, &escape)
        + &line("", &comparison_tally(comparison))
}

/// The number of changes with each verdict: `2 better, 4 same; 6 changes, each judged separately`.
pub fn comparison_tally(comparison: &Comparison) -> String {
    let counts = Verdict::ALL
        .into_iter()
        .map(|verdict| (verdict.name(), comparison.count(verdict)));
    let counts: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    match comparison.changes().count() {
        0 => "nothing to compare".to_owned(),
        1 => counts.join(", "),
        all => format!(
            "{}; {all} changes, each judged separately",
            counts.join(", ")
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
    for cell in &comparison.cells {
        let name = cell.name();
        table.rows.extend(cell.changes.iter().map(|change| {
            let ((old, new), (old_runs, new_runs)) = (change.medians, change.runs);
            let words = [name.clone(), named(change.metric), median(old), median(new)];
            let others = [
                format!("{old_runs}, {new_runs}"),
                shown(change),
                change.verdict.name().to_owned(),
            ];
            words.into_iter().chain(others).map(Value::Text).collect()
        }));
    }
    table
}

/// `+5.1 % [+3.0, +7.2]`, or in the metric's unit where there is no ratio.
fn shown(change: &Change) -> String {
    match &change.shift {
        None => "-".to_owned(),
        Some(shift @ Shift::Ratio(_)) => number::signed(&shift.change(), "%", 1),
        Some(Shift::Difference(difference)) => number::signed_like_plain(difference, change.unit()),
    }
}

/// The comparison as JSON: `old`, `new`, `same_blocks`, `threshold_pct`, `host_differences`,
/// `constant_differences`, `setting_differences`, `known_to_one_side`, `run_remarks`, `cells` with
/// `levels` and `changes`, `unmatched`. Absent values have no key.
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
        "same_blocks": comparison.pairing == Pairing::Blocks,
        "threshold_pct": comparison.threshold_pct,
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
    });
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
