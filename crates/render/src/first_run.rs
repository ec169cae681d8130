//! The first run of a single cell in its document.

use std::collections::BTreeMap;

use bitcost_analysis::log::settings_not_in_effect;
use bitcost_analysis::metrics::{
    Metric, PartRun, RunView, SoftirqMeans, attribute, flow_rates_mbps, metric, parts,
};
use bitcost_model::conditions::Conditions;
use bitcost_model::record::{EndpointRecord, Role};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::losses;
use crate::one_run::shown;

/// What is said of the first run of a single cell.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FirstRun {
    /// Its conditions.
    conditions: Conditions,
    /// The settings as the endpoints read them back, by name.
    in_effect: Ends<BTreeMap<String, Option<String>>>,
    /// Requested settings that are not in effect, a sentence each.
    not_in_effect: Ends<Vec<String>>,
    /// Length of the measured window of the receiver.
    seconds: Option<f64>,
    /// User data of the measured window, in bytes.
    bytes: Bytes,
    /// Throughput of each flow of a stream, in Mbit/s.
    flows_mbps: Vec<f64>,
    /// How CPU time was attributed.
    attribution: Option<&'static str>,
    /// By which means the time of soft interrupts is known.
    softirqs: Option<&'static str>,
    /// What became of lost and retransmitted packets.
    losses: Value,
    /// Each of several workloads that ran at once.
    parts: Option<Vec<Part>>,
}

/// Something of both endpoints.
#[derive(Serialize, JsonSchema)]
struct Ends<T> {
    sender: T,
    receiver: T,
}

/// User data in bytes.
#[derive(Serialize, JsonSchema)]
struct Bytes {
    sent: u64,
    received: u64,
}

/// One of several workloads that ran at once.
#[derive(Serialize, JsonSchema)]
struct Part {
    /// Its conditions.
    conditions: Conditions,
    /// Its figures, by metric.
    metrics: BTreeMap<&'static str, f64>,
    /// As of the first run.
    not_in_effect: Ends<Vec<String>>,
}

impl<T> Ends<T> {
    fn of(
        sender: &EndpointRecord,
        receiver: &EndpointRecord,
        of: fn(&EndpointRecord) -> T,
    ) -> Ends<T> {
        Ends {
            sender: of(sender),
            receiver: of(receiver),
        }
    }
}

impl FirstRun {
    pub fn of(run: &RunView) -> FirstRun {
        let bytes = |role| run.measured(role).bytes;
        let attribution = attribute(run).ok();
        let softirqs = attribution.as_ref().and_then(|found| found.softirqs);
        let parts_of = || parts(run).iter().map(part).collect();
        FirstRun {
            conditions: run.conditions.clone(),
            in_effect: Ends::of(run.sender, run.receiver, in_effect),
            not_in_effect: Ends::of(run.sender, run.receiver, settings_not_in_effect),
            seconds: run.window_seconds(Role::Receiver),
            bytes: Bytes {
                sent: bytes(Role::Sender),
                received: bytes(Role::Receiver),
            },
            flows_mbps: flow_rates_mbps(run),
            attribution: attribution.map(|found| found.method.name()),
            softirqs: softirqs.map(SoftirqMeans::name),
            losses: losses::document(run),
            parts: (!run.is_alone()).then(parts_of),
        }
    }
}

fn in_effect(end: &EndpointRecord) -> BTreeMap<String, Option<String>> {
    let settings = end.in_effect.iter();
    settings
        .map(|setting| (setting.name.clone(), setting.actual.clone()))
        .collect()
}

fn part(part: &PartRun) -> Part {
    let view = part.view();
    let value = |metric: &'static Metric| Some((metric.name, (metric.compute)(&view)?));
    let throughput = metric("throughput_mbps");
    Part {
        conditions: part.conditions.clone(),
        metrics: shown(&view).chain(throughput).filter_map(value).collect(),
        not_in_effect: Ends::of(&part.sender, &part.receiver, settings_not_in_effect),
    }
}
