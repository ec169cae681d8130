//! A summary as one JSON document. Absent values have no key.

use crate::comparison::comparison_json;
use crate::distance::distances_json;
use crate::export::{ExportError, Exported, Form, Input, RowSupport};
use crate::imported::imported_json;
use crate::noise::noise_json;
use crate::states::repeats_json;
use bitcost_analysis::explain::ExplainedCell;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::statistics::Interval;
use bitcost_model::event::EndpointDescription;
use serde_json::{Map, Value, json};

use bitcost_analysis::explain::queue_limits;
use bitcost_analysis::frame::{Table, Value as Entry};

use crate::answer::bottleneck::of_cells;
use crate::calibration::calibration_json;
use crate::constants::machines_json;
use crate::explained::{bottleneck, shares_json};
use crate::first_run::first_run;
use crate::levels::levels_json;
use crate::mode_search::mode_search_json;
use crate::queue_limits::queue_limits_json;
use crate::repetitions::add_repetitions;
use crate::single_run::intervals_json;
use crate::statements::statements_json;
use crate::stop_rule::stop_rule_json;
use crate::time_series::time_series_json;
use bitcost_analysis::cells::{CellSummary, ExcludedRun};
use bitcost_analysis::summary::ImprovementSummary;
use bitcost_analysis::summary::{Note, Summary};

/// Version of the document, which is the same of `test`, `run` and `show`. In version 2, that of a
/// test had other keys, and no other one had a bottleneck.
pub const FORMAT: u32 = 3;

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
    let document = |findings: &Findings| {
        let mut document = json(findings);
        if input.samples {
            document["records"] = records(findings);
        }
        document
    };
    let mut documents: Vec<Value> = input.executions.iter().map(document).collect();
    let all = match documents.len() {
        1 => documents.remove(0),
        _ => Value::Array(documents),
    };
    Ok(format!("{all:#}\n").into())
}

/// The raw records of every shown run, with all samples.
fn records(findings: &Findings) -> Value {
    let shown: Vec<u32> = findings.shown_runs().map(|row| row.run).collect();
    let mut found = Vec::new();
    findings.each_run(|row| shown.contains(&row.run), &mut |row, _, view| {
        let (run, sender, receiver) = (row.run, view.sender, view.receiver);
        found.push(json!({ "run": run, "sender": sender, "receiver": receiver }));
    });
    Value::Array(found)
}

/// The document: `format` ([`FORMAT`]), `study`, `question`, `seed`, `blocks`, `runs` (the number of
/// those with figures), `cells`, `bottleneck`, `improvements`, `excluded`, `notes`, `caveats`,
/// `hosts` by role, `incomplete_runs`,
/// `host_constants` if they were measured, `core_to_core` if the endpoints' CPUs were not equally far from each other in all runs, `states` if some were made in another state of the machine, `calibration` of a lab, `until_interval` or `blocks_auto` if the study has a stop rule, `checks` if it has
/// statements of a document, `interval_s` and `repetitions` of runs at an interval, `comparison` if
/// the study compares, `log`, and the origin of the log. Of a single cell also what
/// `first_run` says, and of a single run `intervals` by metric.
///
/// Each entry of `cells` has `levels`, `runs`, `bottleneck`, and per metric
/// `{median, low, high, runs, mean, standard_deviation, least, largest}` under the metric's name;
/// each of `improvements` has `factor`, `from`, `to`, `levels`, and per metric
/// `{ratio, low, high}`, above 1 where `to` is better. The author's own figures are under
/// `expected`. `low` and `high`, and the keys after `runs`, are absent of a single run, which says
/// nothing about the spread. Runs are numbered by their place in the order, from 0.
pub fn json(findings: &Findings) -> Value {
    let mut document = of_summary(&findings.summary);
    if let Value::Array(cells) = &mut document["cells"] {
        for (place, cell) in cells.iter_mut().enumerate() {
            let limiter = findings.limiter_of(place);
            cell["bottleneck"] = limiter.map_or(Value::Null, bottleneck);
        }
    }
    document["bottleneck"] = of_all(findings);
    let of_runs = match findings.summary.cells.len() {
        1 => findings.of_runs(|row| &row.caveats),
        _ => Vec::new(),
    };
    let caveats = findings.summary.caveats.iter().map(String::as_str);
    document["caveats"] = caveats.chain(of_runs).collect();
    if let Some(single) = findings.single() {
        for (key, value) in first_run(&single.first) {
            document[key] = value;
        }
        if findings.shown_runs().count() == 1 {
            document["intervals"] = json!(intervals_json(&single.first));
        }
    }
    if let Some(comparison) = &findings.comparison {
        document["comparison"] = comparison_json(comparison);
    }
    if findings.summary.is_imported {
        document["imported_runs"] = imported_json(&findings.events);
    }
    if let Some(log) = &findings.log {
        let path = log.path.canonicalize();
        let path = path.as_ref().unwrap_or(&log.path);
        document["log"] = path.display().to_string().into();
    }
    if let Some(search) = &findings.mode_search {
        document["mode_search"] = mode_search_json(search);
    }
    without_null(document)
}

/// What limited the cells: of a single one as in its entry of `cells`, of several the limiters with
/// the share of the cells that each limited.
fn of_all(findings: &Findings) -> Value {
    match &findings.explanation.cells[..] {
        [cell] => bottleneck(cell),
        cells => {
            let shares = ExplainedCell::shares_of(cells);
            json!({ "words": of_cells(&findings.explanation), "shares": shares_json(&shares) })
        }
    }
}

/// [`json()`] as text with line breaks, ending in one.
pub fn json_text(findings: &Findings) -> String {
    format!("{:#}\n", json(findings))
}

fn of_summary(summary: &Summary) -> Value {
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
        "runs": summary.cells.iter().map(|cell| cell.runs).sum::<usize>(),
        "cells": summary.cells.iter().map(cell).collect::<Vec<_>>(),
        "improvements": summary.improvements.iter().map(improvement).collect::<Vec<_>>(),
        "excluded": summary.excluded.iter().map(excluded).collect::<Vec<_>>(),
        "place_notes": summary.place_notes,
        "notes": summary.notes.iter().map(note).collect::<Vec<_>>(),
        "hosts": Value::Object(summary.ends.iter().map(host).collect()),
        "incomplete_runs": summary.incomplete,
    });
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
    if let Some(repeats) = &summary.repeats {
        document["states"] = repeats_json(repeats);
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

/// An endpoint's role, and its place and host without the switches of its device.
fn host(end: &EndpointDescription) -> (String, Value) {
    let (host, device) = (&end.host, &end.host.device);
    let value = json!({
        "place": end.place,
        "host_name": host.host_name,
        "boot_id": host.boot_id,
        "kernel": host.kernel,
        "architecture": host.architecture,
        "cpu_model": host.cpu_model,
        "cpus": host.cpus.len(),
        "governor": host.governor,
        "memory_kib": host.memory_kib,
        "device": { "name": device.name, "driver": device.driver, "mtu_bytes": device.mtu_bytes, "qdiscs": device.qdiscs },
        "bitcost_version": host.bitcost_version,
    });
    (end.role.name().to_owned(), value)
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

/// The same without keys that have no value.
fn without_null(value: Value) -> Value {
    match value {
        Value::Object(entries) => {
            let known = entries.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(
                known
                    .map(|(key, value)| (key, without_null(value)))
                    .collect(),
            )
        }
        Value::Array(items) => items.into_iter().map(without_null).collect(),
        plain => plain,
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
