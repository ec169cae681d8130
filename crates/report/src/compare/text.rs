//! A comparison as text, as Markdown, and the words and rows that a page takes.

use comfy_table::{CellAlignment, Table as Grid, presets};

use super::{Change, Comparison, Pairing, Shift, Unmatched, Verdict};
use crate::frame::{Table, Value, escape_markdown, markdown};
use crate::grid::Lines;
use crate::number;
use crate::text::named;

/// The comparison for people: what differs between the hosts first, then a line per cell and metric.
pub fn comparison_text(comparison: &Comparison) -> String {
    let mut text = head(comparison, one_line);
    let table = comparison_lines(comparison);
    if !table.rows.is_empty() {
        grid(&table).lines().for_each(|line| text += &format!("{}\n", line.trim_end()));
        text.push('\n');
    }
    text + &foot(comparison, one_line)
}

/// Words from others' logs on one line.
fn one_line(words: &str) -> String {
    words.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

fn grid(table: &Lines) -> Grid {
    let mut grid = Grid::new();
    grid.load_preset(presets::ASCII_MARKDOWN).set_header(&table.header);
    for (_, row) in &table.rows {
        grid.add_row(row.iter().map(|words| one_line(words)));
    }
    for column in grid.column_iter_mut().skip(2).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    grid
}

/// The same in Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let escape = |words: &str| escape_markdown(words);
    format!("{}{}\n{}", head(comparison, escape), markdown(&table(comparison)), foot(comparison, escape))
}

fn head(comparison: &Comparison, escape: impl Fn(&str) -> String) -> String {
    let (old, new) = &comparison.names;
    let remarks = comparison_remarks(comparison);
    let remarks: String = remarks.iter().map(|words| format!("- {}\n", escape(words))).collect();
    let remarks = if remarks.is_empty() { String::new() } else { format!("\n{remarks}") };
    format!("{} → {}\n{remarks}\n{}\n\n", escape(old), escape(new), comparison_method(comparison))
}

/// What must be known before the changes, a sentence each: what differs beside the settings that are compared.
pub fn comparison_remarks(comparison: &Comparison) -> Vec<String> {
    let hosts = comparison.host_differences.iter().map(|words| format!("hosts differ: {words}"));
    let settings = comparison.setting_differences.iter().map(|words| format!("settings differ: {words}"));
    let runs = comparison.run_remarks.iter().chain(&comparison.known_to_one).cloned();
    hosts.chain(settings).chain(runs).collect()
}

/// The cells that have none to be compared with, a sentence each.
pub fn comparison_unmatched(comparison: &Comparison) -> Vec<String> {
    let sentence = |only: &Unmatched| {
        let why = only.why.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        format!("only in {}: {}{why}", comparison.side(only.is_old), only.cell)
    };
    comparison.unmatched.iter().map(sentence).collect()
}

/// What the figures of a comparison are, and whether runs were paired: two sentences.
pub fn comparison_method(comparison: &Comparison) -> String {
    let how = match (comparison.pairing, comparison.is_within) {
        (Pairing::Blocks, _) => "both sides in the same blocks, paired within them where that is surer",
        (Pairing::Apart, true) => "runs of other programs, which were not interleaved: not paired",
        (Pairing::Apart, false) => {
            "two executions, runs not paired: what changed between them beside the settings is in the change too"
        }
    };
    format!(
        "Change: the middle of the changes of every new run from every old one, not that of the medians beside it, with its 95 % interval. Threshold {} %; {how}.",
        comparison.threshold_pct
    )
}

fn foot(comparison: &Comparison, escape: impl Fn(&str) -> String) -> String {
    let alone = comparison_unmatched(comparison);
    let alone: String = alone.iter().map(|words| format!("- {}\n", escape(words))).collect();
    let alone = if alone.is_empty() { String::new() } else { format!("{alone}\n") };
    format!("{alone}{}\n", comparison_tally(comparison))
}

/// How many changes have which verdict: `2 better, 4 same; 6 changes, each judged by itself`.
pub fn comparison_tally(comparison: &Comparison) -> String {
    let counts = Verdict::ALL.into_iter().map(|verdict| (verdict.name(), comparison.count(verdict)));
    let counts: Vec<String> =
        counts.filter(|(_, count)| *count > 0).map(|(name, count)| format!("{count} {name}")).collect();
    match comparison.changes().count() {
        0 => "nothing to compare".to_owned(),
        1 => counts.join(", "),
        all => format!("{}; {all} changes, each judged by itself", counts.join(", ")),
    }
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
    let mut table = Table::new(["cell", "metric", "old", "new", "runs", "change", "verdict"]);
    let median = |median: Option<f64>| median.map_or("-".to_owned(), number::plain);
    for cell in &comparison.cells {
        let name = cell.name();
        table.rows.extend(cell.changes.iter().map(|change| {
            let ((old, new), (old_runs, new_runs)) = (change.medians, change.runs);
            let words = [name.clone(), named(change.metric), median(old), median(new)];
            let others = [format!("{old_runs}, {new_runs}"), shown(change), change.verdict.name().to_owned()];
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
