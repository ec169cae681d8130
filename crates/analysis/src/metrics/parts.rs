//! The parts of a run, each as a separate run, and figures of all of them together.
//!
//! CPU times of a host are not divided among parts: only figures of all parts have them.

use bitcost_model::conditions::Conditions;
use bitcost_model::record::{
    EndpointRecord, FlowRecord, OffloadsInEffect, PartRecord, Role, Sample, ThreadKind, ThreadTime,
};

use crate::metrics::attribution::attribute;
use crate::metrics::view::RunView;

/// One part of a run as if it were the whole run, without CPU times of the hosts.
#[derive(Clone, Debug)]
pub struct PartRun<'a> {
    /// Why the run ended before its time.
    pub interrupted: Option<&'a str>,
    pub conditions: Conditions,
    /// The record of the endpoint that sends, or asks, in it.
    pub sender: EndpointRecord,
    pub receiver: EndpointRecord,
}

impl PartRun<'_> {
    pub fn view(&self) -> RunView<'_> {
        let (sender, receiver, conditions) = (&self.sender, &self.receiver, &self.conditions);
        RunView {
            interrupted: self.interrupted,
            sender,
            receiver,
            conditions,
            shared_cpus: false,
            napi_threaded: false,
            shaped_bps: None,
        }
    }
}

/// Every part of a run, in order; those that a record does not have are left out.
pub fn parts<'a>(run: &RunView<'a>) -> Vec<PartRun<'a>> {
    let part = |(index, conditions): (usize, Conditions)| {
        let is_turned = conditions.direction != run.conditions.parts()[0].direction;
        let of = |end| of_part(end, index, is_turned);
        let (a, b) = (of(run.sender)?, of(run.receiver)?);
        let (sender, receiver) = if is_turned { (b, a) } else { (a, b) };
        Some(PartRun {
            interrupted: run.interrupted,
            conditions,
            sender,
            receiver,
        })
    };
    let all = run.conditions.parts().into_iter().enumerate();
    all.filter_map(part).collect()
}

fn of_part(end: &EndpointRecord, index: usize, is_turned: bool) -> Option<EndpointRecord> {
    let edges = [end.samples.first(), end.samples.last()].into_iter();
    let samples = edges.flatten().map(|sample| sample_of(sample, index));
    let readings = || of_readings(&end.samples, index);
    let part = match index.checked_sub(1) {
        None => PartRecord {
            role: end.role,
            in_effect: end.in_effect.clone(),
            all: FlowRecord {
                counts: end.counts,
                sequence: end.sequence,
                tcp_info: end.tcp_info.clone(),
                latency: end.latency.clone(),
                ..FlowRecord::default()
            },
            flows: end.flows.clone(),
        },
        Some(later) => end.background.get(later).cloned().or_else(readings)?,
    };
    Some(EndpointRecord {
        role: [end.role, end.role.other()][usize::from(is_turned)],
        in_effect: part.in_effect,
        // Settings of the host are reported with the first part.
        offloads: match index {
            0 => end.offloads.clone(),
            _ => OffloadsInEffect::default(),
        },
        pinned_cpus: end.pinned_cpus.clone(),
        window_start_ns: end.window_start_ns,
        window_end_ns: end.window_end_ns,
        counts: part.all.counts,
        sequence: part.all.sequence,
        tcp_info: part.all.tcp_info,
        latency: part.all.latency,
        flows: part.flows,
        ticks_per_second: end.ticks_per_second,
        samples: samples.collect::<Option<_>>()?,
        iperf3: end.iperf3.clone(),
        ..EndpointRecord::default()
    })
}

/// A part of an end of which there are only readings.
fn of_readings(samples: &[Sample], index: usize) -> Option<PartRecord> {
    let (first, last) = (samples.first()?.part(index)?, samples.last()?.part(index)?);
    let mut part = PartRecord::default();
    part.all.counts.measured = last.counts.since(&first.counts);
    part.all.tcp_info = last.tcp_info;
    Some(part)
}

fn sample_of(sample: &Sample, index: usize) -> Option<Sample> {
    let part = sample.part(index)?;
    let traffic = sample
        .threads
        .iter()
        .filter(|thread| thread.kind == ThreadKind::Traffic);
    let threads = traffic.filter(|thread| thread.part as usize == index);
    let threads = threads
        .map(|thread| ThreadTime { part: 0, ..*thread })
        .collect();
    Some(Sample {
        at_ns: sample.at_ns,
        counts: part.counts,
        tcp_info: part.tcp_info,
        connections: part.connections,
        sockets: part.sockets,
        paused_ns: sample.paused_ns,
        threads,
        ..Sample::default()
    })
}

/// A formula of a background part: of the first part that `is_wanted` chooses and that has the
/// figure.
pub fn of_background(
    run: &RunView,
    is_wanted: fn(&Conditions) -> bool,
    compute: fn(&RunView) -> Option<f64>,
) -> Option<f64> {
    if run.is_alone() {
        return None;
    }
    let parts = parts(run);
    let background = parts.iter().skip(1);
    let mut wanted = background.filter(|part| is_wanted(&part.conditions));
    wanted.find_map(|part| compute(&part.view()))
}

/// The sum of a formula over measured and background flows; absent where that of one is not known.
pub fn sum(run: &RunView, compute: fn(&RunView) -> Option<f64>) -> Option<f64> {
    parts(run).iter().map(|part| compute(&part.view())).sum()
}

/// CPU time attributed to an endpoint, in µs per KiB that it sent and received in all flows.
pub fn total_demand(run: &RunView, end: Role) -> Option<f64> {
    let cpus = attribute(run).ok()?.end(end)?.cpus;
    let host = run.conditions.direction.role_of(end);
    let kib_per_second = |part: &PartRun| {
        let is_turned = part.conditions.direction.role_of(end) != host;
        part.view()
            .kib_per_second(if is_turned { end.other() } else { end })
    };
    let all: f64 = parts(run).iter().filter_map(kib_per_second).sum();
    (all > 0.0).then(|| cpus * 1e6 / all)
}
