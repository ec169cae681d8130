//! `bitcost test --json`: one document of what ran where, its figures, the bottleneck and caveats;
//! without samples, unless they are requested.

use bitcost_analysis::execution::Execution;
use bitcost_analysis::explain::ExplainedCell;
use bitcost_analysis::log::settings_not_in_effect;
use bitcost_analysis::metrics::{
    Mark, Metric, PartRun, RunView, SoftirqMeans, attribute, marks, metric, parts,
};
use bitcost_model::event::EndpointDescription;
use bitcost_model::record::{EndpointRecord, Role};
use serde_json::{Map, Value, json};

use crate::explained::{modes_json, verdict_json};
use crate::json::{FORMAT, excluded, medians};
use crate::losses;
use crate::repetitions::add_repetitions;
use crate::single::shown;
use crate::stop_rule::stop_rule_json;
use crate::test_answer::all_caveats;

/// The runs of a test, added one at a time.
#[derive(Default)]
pub struct TestRuns {
    count: usize,
    first: Map<String, Value>,
    caveats: Vec<String>,
    records: Vec<Value>,
}

impl TestRuns {
    /// Adds a run, with its number from 0. Its records are kept only `with_samples`.
    pub fn add(&mut self, number: u32, run: &RunView, with_samples: bool) {
        if self.count == 0 {
            self.first = first(run);
        }
        self.count += 1;
        for caveat in all_caveats(run) {
            if !self.caveats.contains(&caveat) {
                self.caveats.push(caveat);
            }
        }
        if with_samples {
            self.records
                .push(json!({ "run": number, "sender": run.sender, "receiver": run.receiver }));
        }
    }

    /// The document: `format`, `bitcost_version`, `began_at`, `command_line`, `title`, `lab`,
    /// `hosts` by role, `runs` (their number), `cells` as in `show --json` but with medians and
    /// intervals alone, `bottleneck`,
    /// `caveats`, `excluded`, `until_interval`, `interval_s` and `repetitions` where there are any, and of the first run
    /// `conditions`, `congestion_control`, `in_effect`, `not_in_effect`, `seconds`, `bytes`,
    /// `attribution`, `losses`, `weak` and, where several workloads ran at once, `parts`. `records` has the
    /// raw records with all samples, where they were requested. Absent values have no key.
    pub fn document(&self, execution: &Execution, limiter: Option<&ExplainedCell>) -> Value {
        let summary = &execution.summary;
        let caveats: Vec<&String> = summary.caveats.iter().chain(&self.caveats).collect();
        let hosts: Map<String, Value> = summary.ends.iter().map(host).collect();
        let mut document = json!({
            "format": FORMAT,
            "bitcost_version": summary.bitcost_version,
            "began_at": summary.began_at,
            "command_line": summary.command_line,
            "title": summary.study.title,
            "hosts": hosts,
            "runs": self.count,
            "cells": summary.cells.iter().map(medians).collect::<Vec<_>>(),
            "bottleneck": limiter.and_then(bottleneck),
            "caveats": caveats,
        });
        if let Some(lab) = &summary.lab {
            document["lab"] = json!(lab.topology);
        }
        if !summary.excluded.is_empty() {
            document["excluded"] = summary.excluded.iter().map(excluded).collect();
        }
        if let Some(precision) = &summary.precision {
            document["until_interval"] = stop_rule_json(precision);
        }
        add_repetitions(&mut document, summary);
        for (key, value) in &self.first {
            document[key] = value.clone();
        }
        if !self.records.is_empty() {
            document["records"] = json!(self.records);
        }
        without_null(document)
    }
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

fn bottleneck(limiter: &ExplainedCell) -> Option<Value> {
    let mut document = verdict_json(&limiter.verdict()?);
    let shares = limiter.shares();
    if shares.len() > 1 {
        let share =
            |(limiter, share): &(_, f64)| json!({ "words": format!("{limiter}"), "share": share });
        document["shares"] = shares.iter().map(share).collect();
    }
    if let Some(modality) = &limiter.modality {
        document["modes"] = modes_json(modality);
    }
    Some(document)
}

/// What is said of the first run alone.
fn first(run: &RunView) -> Map<String, Value> {
    let in_effect = |end: &EndpointRecord| -> Map<String, Value> {
        let settings = end.in_effect.iter();
        let actual = settings.map(|setting| (setting.name.clone(), json!(setting.actual)));
        actual.collect()
    };
    let both = |of: &dyn Fn(&EndpointRecord) -> Value| json!({ "sender": of(run.sender), "receiver": of(run.receiver) });
    let bytes = |role| run.measured(role).bytes;
    let attribution = attribute(run).ok();
    let softirqs = attribution.as_ref().and_then(|found| found.softirqs);
    let mut said = Map::from_iter([
        ("conditions".to_owned(), json!(run.conditions)),
        ("in_effect".to_owned(), both(&|end| json!(in_effect(end)))),
        (
            "not_in_effect".to_owned(),
            both(&|end| json!(settings_not_in_effect(end))),
        ),
        (
            "seconds".to_owned(),
            json!(run.window_seconds(Role::Receiver)),
        ),
        (
            "bytes".to_owned(),
            json!({ "sent": bytes(Role::Sender), "received": bytes(Role::Receiver) }),
        ),
        (
            "attribution".to_owned(),
            json!(attribution.map(|found| found.method.name())),
        ),
        (
            "softirqs".to_owned(),
            json!(softirqs.map(SoftirqMeans::name)),
        ),
        ("losses".to_owned(), losses::json(run)),
        ("weak".to_owned(), marks(run).iter().map(mark).collect()),
    ]);
    if let Some(control) = in_effect(run.sender).get("congestion_control") {
        said.insert("congestion_control".to_owned(), control.clone());
    }
    if !run.is_alone() {
        said.insert(
            "parts".to_owned(),
            parts(run).iter().map(|of| part(of, run)).collect(),
        );
    }
    said
}

/// One of several workloads that ran at once; of its conditions workload, direction, and what is
/// otherwise than the first one's.
fn part(part: &PartRun, run: &RunView) -> Value {
    let first = json!(run.conditions);
    let mut conditions = json!(part.conditions);
    if let Value::Object(entries) = &mut conditions {
        entries.retain(|key, value| {
            matches!(key.as_str(), "workload" | "direction") || first[key.as_str()] != *value
        });
    }
    let view = part.view();
    let value = |metric: &Metric| Some((metric.name.to_owned(), json!((metric.compute)(&view)?)));
    let throughput = metric("throughput_mbps");
    let metrics: Map<String, Value> = shown(&view).chain(throughput).filter_map(value).collect();
    json!({
        "conditions": conditions,
        "metrics": metrics,
        "not_in_effect": { "sender": settings_not_in_effect(&part.sender), "receiver": settings_not_in_effect(&part.receiver) },
    })
}

fn mark(mark: &Mark) -> Value {
    json!({
        "mark": mark.weak.name(),
        "end": mark.end.map(Role::name),
        "pct": mark.pct,
        "concerns": if mark.attributed { "end" } else { "host" },
        "reason": mark.weak.reason(),
    })
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
