//! What the traffic's calls, threads and segments did, per message.

use bitcost_model::record::{Arrivals, EndpointRecord, FlowRecord, Role, TcpInfo, ThreadKind};
use bitcost_model::units::bits_per_second;

use crate::metrics::cpu;
use crate::metrics::edges::{Edges, is_of_first_part};
use crate::metrics::path;
use crate::metrics::view::{RunView, quotient};

/// Messages per second that an endpoint's thread handled. A TCP receiver sees only bytes: its
/// messages are those bytes ÷ the sender's bytes per message.
pub fn messages_per_second(run: &RunView, role: Role) -> Option<f64> {
    let counts = run.measured(role);
    let seen = match counts.messages {
        0 => {
            let sent = run.measured(Role::Sender);
            quotient(
                counts.bytes as f64 * sent.messages as f64,
                sent.bytes as f64,
            )?
        }
        messages => messages as f64,
    };
    (seen > 0.0).then_some(seen / run.window_seconds(role)?)
}

/// Sleeps of an endpoint's traffic threads of the run's first part per second, between its first and
/// its last sample, per message.
pub fn wakeups(run: &RunView, role: Role) -> Option<f64> {
    let edges = Edges::of(&run.end(role).samples)?;
    // Their number is the same.
    edges.threads(is_of_first_part)?;
    let sleeps = edges.of_threads(|thread| Some(thread.switches.as_ref()?.voluntary))?;
    Some(sleeps / edges.seconds / messages_per_second(run, role)?)
}

/// Every system call of an endpoint's loop, per message, in its own window; the time between its calls has none.
pub fn system_calls(run: &RunView, role: Role) -> Option<f64> {
    (!run.conditions.workload.is_transactional()).then_some(())?;
    let end = run.end(role);
    let counts = &end.counts.measured;
    let all = counts.calls + counts.failed_calls + counts.empty_calls;
    Some(quotient(all as f64, end.window_seconds())? / messages_per_second(run, role)?)
}

/// Interrupts of the card of an endpoint, of all its queues.
pub fn interrupts(run: &RunView, role: Role) -> Option<f64> {
    let edges = Edges::of(&run.end(role).samples)?;
    Some(edges.growth(|sample| sample.card.as_deref()?.handled)? / edges.seconds)
}

pub fn failed_sends(run: &RunView) -> Option<f64> {
    let counts = run.measured(Role::Sender);
    let (failed, taken) = (counts.failed_calls as f64, counts.calls as f64);
    let is_datagram = run.conditions.workload.is_datagram();
    quotient(100.0 * failed, taken + failed).filter(|_| is_datagram)
}

/// Run time of an endpoint's traffic threads ÷ time between the first and the last sample, in per
/// cent of one CPU.
pub fn traffic_threads_pct(end: &EndpointRecord) -> Option<f64> {
    cpu::of_threads(end, ThreadKind::Traffic).map(|cpus| 100.0 * cpus)
}

/// Segments that were retransmitted between the sender's first and its last sample.
pub fn retransmitted_in_window(run: &RunView) -> Option<f64> {
    Edges::of(&run.sender.samples)?.tcp(|info| info.total_retrans)
}

/// What each flow of a stream carried to its receiver in the window, in Mbit/s.
pub fn flow_rates_mbps(run: &RunView) -> Vec<f64> {
    let window = run.window_seconds(Role::Receiver);
    let flows = run.receiver.flows.iter();
    let flows = flows.filter(|_| !run.conditions.workload.is_transactional());
    let rate = |flow: &FlowRecord| Some(bits_per_second(flow.counts.measured.bytes, window?) / 1e6);
    flows.filter_map(rate).collect()
}

pub fn segment_size(run: &RunView) -> Option<f64> {
    let info = run.sender.tcp_info.as_ref()?;
    let sent = info.bytes_sent.filter(|_| !info.has_wrapped())?;
    quotient(sent as f64, f64::from(info.data_segs_out?))
}

pub fn segments_per_message(run: &RunView) -> Option<f64> {
    let info = run.sender.tcp_info.as_ref();
    if run.conditions.workload.is_datagram() || info.is_some_and(TcpInfo::has_wrapped) {
        return None;
    }
    let edges = Edges::of(&run.sender.samples)?;
    let segments = edges.tcp(|info| info.data_segs_out)? / edges.seconds;
    Some(segments / messages_per_second(run, Role::Sender)?)
}

/// A count of the window's datagrams in per cent of those sent.
pub fn arrivals(run: &RunView, count: fn(&Arrivals) -> u64) -> Option<f64> {
    let sequence = run.receiver.sequence?;
    quotient(
        100.0 * count(&sequence.measured?) as f64,
        sequence.measured_sent as f64,
    )
}

/// CPU seconds per second that the run's own threads used at both endpoints, and the lab's link emulators, which work
/// for the run as well.
fn own_cpus(run: &RunView) -> Option<f64> {
    let of = |end: &EndpointRecord| {
        let kinds = [ThreadKind::Traffic, ThreadKind::Napi, ThreadKind::Monitor].into_iter();
        let threads = || end.samples.iter().flat_map(|sample| &sample.threads);
        let mut present = kinds.filter(|kind| threads().any(|thread| thread.kind == *kind));
        let cpus = present.try_fold(0.0, |sum, kind| Some(sum + cpu::of_threads(end, kind)?))?;
        (cpus > 0.0).then_some(cpus)
    };
    Some(of(run.sender)? + of(run.receiver)? + path::emulator_cpus(run).unwrap_or(0.0))
}

/// CPU seconds per second that the host or the hosts were busy, and the number of their CPUs.
pub fn busy_cpus(run: &RunView) -> Option<(f64, f64)> {
    let of = |end: &EndpointRecord| Some((cpu::busy_cpus(end)?, cpu::cpus(end)?.len() as f64));
    let sender = of(run.sender)?;
    if run.shared_cpus {
        return Some(sender);
    }
    let receiver = of(run.receiver)?;
    Some((sender.0 + receiver.0, sender.1 + receiver.1))
}

pub fn other_cpu(run: &RunView) -> Option<f64> {
    let (busy, count) = busy_cpus(run)?;
    Some(100.0 * (busy - own_cpus(run)?).max(0.0) / count)
}
