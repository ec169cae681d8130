//! A summary as one JSON document. Absent values have no key.

use crate::comparison::comparison_json;
use crate::distance::distances_json;
use crate::export::{ExportError, Exported, Form, Input, RowSupport};
use crate::imported::imported_json;
use crate::noise::noise_json;
use bitcost_analysis::compare::Comparison;
use bitcost_analysis::execution::Execution;
use bitcost_stats::Interval;
use serde_json::{Map, Value, json};

use bitcost_analysis::explain::queue_limits;
use bitcost_analysis::frame::{Table, Value as Entry};

use crate::calibration::calibration_json;
use crate::constants::machines_json;
use crate::levels::levels_json;
use crate::queue_limits::queue_limits_json;
use crate::repetitions::add_repetitions;
use crate::statements::statements_json;
use crate::stop_rule::stop_rule_json;
use crate::time_series::time_series_json;
use bitcost_analysis::cells::{CellSummary, ExcludedRun};
use bitcost_analysis::summary::ImprovementSummary;
use bitcost_analysis::summary::{Note, Summary};

/// Version of the documents of `show --json` and `test --json`. Version 1 had no number; there a
/// test had its figures under `metrics` and both records.
pub const FORMAT: u32 = 2;

/// `--format json`.
pub(crate) const FORM: Form = Form {
    rows: RowSupport::Optional,
    holds_caveats: true,
    ..Form::new("json", "JSON", export)
};

fn export(input: &Input) -> Result<Exported, ExportError> {
    if let Some(rows) = input.rows {
        return Ok(format!("{:#}\n", table_json(&rows.table(input.executions))).into());
    }
    let compared = input.compared();
    let pairs = input.executions.iter().zip(&compared);
    let mut documents: Vec<Value> = pairs
        .map(|(execution, comparison)| whole(execution, comparison.as_ref()))
        .collect();
    let all = match documents.len() {
        1 => documents.remove(0),
        _ => Value::Array(documents),
    };
    Ok(Exported {
        compared,
        ..format!("{all:#}\n").into()
    })
}

/// The summary, the study's comparison, and facts from imported files about their runs.
fn whole(execution: &Execution, comparison: Option<&Comparison>) -> Value {
    let mut document = json(&execution.summary);
    if let Some(comparison) = comparison {
        document["comparison"] = comparison_json(comparison);
    }
    if let Some(runs) = imported_json(execution.events) {
        document["imported_runs"] = runs;
    }
    document
}

/// The document: `format` ([`FORMAT`]), `study`, `question`, `seed`, `blocks`, `cells`, `improvements`, `excluded`,
/// `notes`, `ends`, `incomplete_runs`, `caveats` if the log itself has some, such as damage,
/// `host_constants` if they were measured, `core_to_core` if the endpoints' CPUs were not equally far from each other in all runs, `calibration` of a lab, `until_interval` or `blocks_auto` if the study has a stop rule, `checks` if it has
/// statements of a document, `interval_s` and `repetitions` of runs at an interval, and the origin of
/// the log.
///
/// Each entry of `cells` has `levels`, `runs`, and per metric
/// `{median, low, high, runs, mean, standard_deviation, least, largest}` under the metric's name;
/// each of `improvements` has `factor`, `from`, `to`, `levels`, and per metric
/// `{ratio, low, high}`, above 1 where `to` is better. The author's own figures are under
/// `expected`. `low` and `high`, and the keys after `runs`, are absent of a single run, which says
/// nothing about the spread. Runs are numbered by their place in the order, from 0.
pub fn json(summary: &Summary) -> Value {
    let mut document = json!({
        "format": FORMAT,
        "study": summary.study.name,
        "title": summary.study.title,
        "question": summary.study.question,
        "seed": summary.seed,
        "blocks": summary.blocks,
        "bitcost_version": summary.bitcost_version,
        "began_at": summary.began_at,
        "command_line": summary.command_line,
        "cells": summary.cells.iter().map(cell).collect::<Vec<_>>(),
        "improvements": summary.improvements.iter().map(improvement).collect::<Vec<_>>(),
        "excluded": summary.excluded.iter().map(excluded).collect::<Vec<_>>(),
        "place_notes": summary.place_notes,
        "notes": summary.notes.iter().map(note).collect::<Vec<_>>(),
        "endpoints": summary.ends,
        "incomplete_runs": summary.incomplete,
    });
    if !summary.caveats.is_empty() {
        document["caveats"] = json!(summary.caveats);
    }
    if !summary.checks.is_empty() {
        document["checks"] = statements_json(&summary.checks);
    }
    if !summary.time_series.is_empty() {
        document["time_series"] = summary.time_series.iter().map(time_series_json).collect();
    }
    let queue_limits = queue_limits(summary);
    if !queue_limits.drops.is_empty() {
        document["queue_limits"] = queue_limits_json(&queue_limits);
    }
    if !summary.constants.is_empty() {
        document["host_constants"] = machines_json(&summary.constants);
    }
    if let Some(calibration) = &summary.calibration {
        document["calibration"] = calibration_json(calibration);
    }
    if let Some(found) = &summary.distances {
        document["core_to_core"] = distances_json(found);
    }
    if let Some(noise) = &summary.noise {
        document["noise"] = noise_json(noise);
    }
    if let Some(precision) = &summary.precision {
        let key = match precision.budget {
            Some(_) => "blocks_auto",
            None => "until_interval",
        };
        document[key] = stop_rule_json(precision);
    }
    if let Some(lab) = &summary.lab {
        document["lab"] = json!(lab);
    }
    add_repetitions(&mut document, summary);
    if let Some(expect) = &summary.study.expect {
        document["expected_source"] = json!(expect.source);
    }
    document
}

/// [`json()`] as text with line breaks, ending in one.
pub fn json_text(summary: &Summary) -> String {
    format!("{:#}\n", json(summary))
}

/// A cell: its levels, the number of its runs, and the median of each metric with its interval.
pub(crate) fn medians(cell: &CellSummary) -> Value {
    let mut entry = figures("median", &cell.figures);
    entry.insert("levels".into(), levels_json(&cell.levels));
    entry.insert("runs".into(), json!(cell.runs));
    Value::Object(entry)
}

fn cell(cell: &CellSummary) -> Value {
    let mut entry = figures("median", &cell.figures);
    for (name, spread) in &cell.spreads {
        let Some(Value::Object(figure)) = entry.get_mut(*name) else {
            continue;
        };
        figure.insert("runs".into(), json!(spread.count));
        if spread.count == 1 {
            continue;
        }
        figure.insert("mean".into(), json!(spread.mean));
        figure.extend(
            spread
                .deviation
                .map(|deviation| ("standard_deviation".to_owned(), json!(deviation))),
        );
        figure.insert("least".into(), json!(spread.least));
        figure.insert("largest".into(), json!(spread.largest));
    }
    entry.insert("levels".into(), levels_json(&cell.levels));
    entry.insert("runs".into(), json!(cell.runs));
    expected(&mut entry, &cell.expected);
    let methods: Map<String, Value> = cell
        .methods
        .iter()
        .map(|(method, runs)| (method.name().to_owned(), json!(runs)))
        .collect();
    entry.insert("attribution".into(), Value::Object(methods));
    if !cell.softirqs.is_empty() {
        let means = cell.softirqs.iter();
        let means = means.map(|(means, runs)| (means.name().to_owned(), json!(runs)));
        entry.insert("softirqs".into(), Value::Object(means.collect()));
    }
    if !cell.unattributed.is_empty() {
        let reasons = cell
            .unattributed
            .iter()
            .map(|(reason, runs)| json!({ "reason": reason, "runs": runs }));
        entry.insert("unattributed".into(), reasons.collect());
    }
    Value::Object(entry)
}

fn improvement(improvement: &ImprovementSummary) -> Value {
    let mut entry = figures("ratio", &improvement.figures);
    entry.insert("factor".into(), json!(improvement.factor));
    entry.insert("from".into(), json!(improvement.from));
    entry.insert("to".into(), json!(improvement.to));
    entry.insert("levels".into(), levels_json(&improvement.levels));
    expected(&mut entry, &improvement.expected);
    Value::Object(entry)
}

pub(crate) fn excluded(run: &ExcludedRun) -> Value {
    json!({ "run": run.run, "block": run.block, "levels": levels_json(&run.levels), "reason": run.reason })
}

fn note(note: &Note) -> Value {
    let mut entry = json!({ "note": note.text, "runs": note.runs });
    if let Some(cell) = &note.cell {
        entry["cell"] = json!(cell);
    }
    entry
}

fn figures(value_name: &str, figures: &[(&'static str, Interval)]) -> Map<String, Value> {
    let entry = |interval: &Interval| {
        let mut entry = json!({ value_name: interval.value });
        if let (Some(low), Some(high)) = (interval.low, interval.high) {
            entry["low"] = json!(low);
            entry["high"] = json!(high);
        }
        entry
    };
    figures
        .iter()
        .map(|(name, interval)| ((*name).to_owned(), entry(interval)))
        .collect()
}

fn expected(entry: &mut Map<String, Value>, expected: &[(String, f64)]) {
    if !expected.is_empty() {
        let figures: Map<String, Value> = expected
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        entry.insert("expected".into(), Value::Object(figures));
    }
}

/// A table as a list of JSON objects; absent values have no key.
pub fn table_json(table: &Table) -> Value {
    let row = |row: &Vec<Entry>| {
        let entries = table.columns.iter().zip(row);
        let known = entries.filter_map(|(name, value)| Some((name.clone(), entry_json(value)?)));
        Value::Object(known.collect())
    };
    table.rows.iter().map(row).collect()
}

fn entry_json(value: &Entry) -> Option<Value> {
    match value {
        Entry::Absent => None,
        Entry::Whole(number) => Some(json!(number)),
        Entry::Number(number) => Some(json!(number)),
        Entry::Text(text) => Some(json!(text)),
    }
}
