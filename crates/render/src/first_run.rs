//! The first run of a single cell in its document, and the intervals of its figures.

use std::collections::BTreeMap;

use bitcost_analysis::log::settings_not_in_effect;
use bitcost_analysis::metrics::{
    BETWEEN_RUNS, Metric, PartRun, RunView, SoftirqMeans, WITH_INTERVAL, attribute, metric, parts,
};
use bitcost_analysis::statistics::Interval;
use bitcost_model::conditions::Conditions;
use bitcost_model::record::{EndpointRecord, Role};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::losses;
use crate::one_run::shown;

pub(crate) type Intervals = BTreeMap<&'static str, OfOneRun>;

/// A figure of one run with its interval.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OfOneRun {
    #[serde(flatten)]
    interval: Interval,
    /// `single_run`.
    kind: &'static str,
    /// Half of the 95 % interval of what varied within the run, in per cent of the figure.
    within_run_pct: f64,
    /// The factor that is assumed between runs.
    between_runs_factor: f64,
}

/// The intervals of a run; metrics without one have no key.
pub(crate) fn intervals(run: &RunView) -> Intervals {
    let entry = |name: &&'static str| {
        let found = bitcost_analysis::metrics::single_run(run, name)?;
        let of = OfOneRun {
            interval: found.interval,
            kind: "single_run",
            within_run_pct: found.within_pct,
            between_runs_factor: BETWEEN_RUNS,
        };
        Some((*name, of))
    };
    WITH_INTERVAL.iter().filter_map(entry).collect()
}

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
