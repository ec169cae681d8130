//! A summary as one JSON document. What has no value has no key.

use serde_json::{Map, Value, json};
use stats::Interval;

use model::study::Label;

use crate::ceiling;
use crate::checks;
use crate::course::Course;
use crate::improvement::ImprovementSummary;
use crate::summary::{CellSummary, ExcludedRun, Note, Summary};

/// The document: `study`, `question`, `seed`, `blocks`, `cells`, `improvements`, `excluded`, `notes`, `ends`,
/// `incomplete_runs`, `caveats` where something must be known of the log itself, such as damage, `calibration` of a lab, `until_interval` where the study has a stop rule, `checks` where it has statements of a document, and
/// where the log came from.
///
/// Each entry of `cells` has `levels`, `runs`, and per metric `{median, low, high, runs, mean, standard_deviation, least,
/// largest}` under the metric's name; each of
/// `improvements` has `factor`, `from`, `to`, `levels`, and per metric `{ratio, low, high}`, above 1 where `to` is
/// better. The author's own figures stand under `expected`. `low` and `high` are absent where one run says nothing about
/// the spread. Runs are named by their place in the order, from 0.
pub fn json(summary: &Summary) -> Value {
    let mut document = json!({
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
        "ends": summary.ends,
        "incomplete_runs": summary.incomplete,
    });
    if !summary.caveats.is_empty() {
        document["caveats"] = json!(summary.caveats);
    }
    if !summary.checks.is_empty() {
        document["checks"] = checks::json(&summary.checks);
    }
    if !summary.courses.is_empty() {
        document["courses"] = summary.courses.iter().map(Course::json).collect();
    }
    if !summary.why.falls.is_empty() {
        document["why"] = summary.why.json();
    }
    if let Some(calibration) = &summary.calibration {
        document["calibration"] = ceiling::json_of(calibration);
    }
    if let Some(precision) = &summary.precision {
        document["until_interval"] = precision.json();
    }
    if let Some(lab) = &summary.lab {
        document["lab"] = json!(lab);
    }
    if let Some(expect) = &summary.study.expect {
        document["expected_source"] = json!(expect.source);
    }
    document
}

/// [`json()`] as text with line breaks, ending in one.
pub fn json_text(summary: &Summary) -> String {
    format!("{:#}\n", json(summary))
}

fn cell(cell: &CellSummary) -> Value {
    let mut entry = figures("median", &cell.figures);
    for (name, spread) in &cell.spreads {
        let Some(Value::Object(figure)) = entry.get_mut(*name) else { continue };
        figure.insert("runs".into(), json!(spread.count));
        figure.insert("mean".into(), json!(spread.mean));
        figure.extend(spread.deviation.map(|deviation| ("standard_deviation".to_owned(), json!(deviation))));
        figure.insert("least".into(), json!(spread.least));
        figure.insert("largest".into(), json!(spread.largest));
    }
    entry.insert("levels".into(), levels_json(&cell.levels));
    entry.insert("runs".into(), json!(cell.runs));
    expected(&mut entry, &cell.expected);
    let methods: Map<String, Value> =
        cell.methods.iter().map(|(method, runs)| (method.name().to_owned(), json!(runs))).collect();
    entry.insert("attribution".into(), Value::Object(methods));
    if !cell.unattributed.is_empty() {
        let reasons = cell.unattributed.iter().map(|(reason, runs)| json!({ "reason": reason, "runs": runs }));
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

fn excluded(run: &ExcludedRun) -> Value {
    json!({ "run": run.run, "block": run.block, "levels": levels_json(&run.levels), "reason": run.reason })
}

fn note(note: &Note) -> Value {
    let mut entry = json!({ "note": note.text, "runs": note.runs });
    if let Some(cell) = &note.cell {
        entry["cell"] = json!(cell);
    }
    entry
}

/// Levels by their factors.
pub(crate) fn levels_json(levels: &[(String, Label)]) -> Value {
    Value::Object(levels.iter().map(|(factor, label)| (factor.clone(), json!(label))).collect())
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
    figures.iter().map(|(name, interval)| ((*name).to_owned(), entry(interval))).collect()
}

fn expected(entry: &mut Map<String, Value>, expected: &[(String, f64)]) {
    if !expected.is_empty() {
        let figures: Map<String, Value> = expected.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        entry.insert("expected".into(), Value::Object(figures));
    }
}
