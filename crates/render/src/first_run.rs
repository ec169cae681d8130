//! The first run of a single cell in JSON.

use bitcost_analysis::log::settings_not_in_effect;
use bitcost_analysis::metrics::{
    Mark, Metric, PartRun, RunView, SoftirqMeans, attribute, marks, metric, parts,
};
use bitcost_model::record::{EndpointRecord, Role};
use serde_json::{Map, Value, json};

use crate::losses;
use crate::single::shown;

/// What is said of the first run of a single cell: `conditions`, `congestion_control`, `in_effect`,
/// `not_in_effect`, `seconds`, `bytes`, `attribution`, `softirqs`, `losses`, `weak` and, where several
/// workloads ran at once, `parts`.
pub(crate) fn first_run(run: &RunView) -> Map<String, Value> {
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
