//! What a run had of each resource that a perturbation can change.

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::record::TcpInfo;
use bitcost_model::record::{EndpointRecord, Role, Sample};

use crate::explain::others::Behind;
use crate::metrics::{RunView, cpu, figure_of, parts};

/// What a run had of each resource; what its records do not give is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// CPU time of the sender and of the receiver for each message, in ns: that of the traffic
    /// threads, and the time that they wait for the kernel's receive work on their CPUs.
    pub busy_ns: [Option<f64>; 2],
    /// The least round-trip time of the connections, in microseconds.
    pub rtt_us: Option<f64>,
    /// The receive window that the receiver announced, in bytes.
    pub window_bytes: Option<f64>,
    /// `SO_SNDBUF` of the sender as it is requested, in bytes.
    pub send_buffer_bytes: Option<f64>,
    /// `SO_RCVBUF` of the receiver as it is requested, in bytes.
    pub receive_buffer_bytes: Option<f64>,
    /// User data of a TCP segment, in bytes.
    pub segment_bytes: Option<f64>,
    /// User data of a packet of the sender, in bytes, of a stream of TCP alone.
    pub bytes_per_packet: Option<f64>,
    /// Segments retransmitted of those sent, as a share.
    pub retransmitted: Option<f64>,
    /// Rate of delivered user data, in bit/s.
    pub delivered_bps: Option<f64>,
    /// The same of the background workloads in the same direction.
    pub background_bps: f64,
}

impl Load {
    pub fn of(run: &RunView) -> Load {
        let connections = |of: fn(&TcpInfo) -> Option<u32>| {
            mean(run.sender, move |sample| {
                sample.connections().iter().map(of).collect()
            })
        };
        let sockets = |role: Role, of: fn(&Sample) -> Vec<u32>| {
            let each = |sample: &Sample| of(sample).into_iter().map(Some).collect();
            mean(run.end(role), each).map(|bytes| bytes / 2.0)
        };
        let edges = run.sender.samples.first().zip(run.sender.samples.last());
        let grown = |of: fn(&TcpInfo) -> Option<u32>| {
            let (first, last) = edges?;
            let of = |sample: &Sample| of(sample.tcp_info.as_ref()?);
            Some(f64::from(of(last)?.wrapping_sub(of(first)?)))
        };
        let (again, all) = (
            grown(|tcp| tcp.total_retrans),
            grown(|tcp| tcp.data_segs_out),
        );
        Load {
            busy_ns: [Role::Sender, Role::Receiver].map(|role| busy_ns(run, role)),
            rtt_us: connections(|tcp| tcp.min_rtt_us),
            window_bytes: connections(|tcp| tcp.snd_wnd_bytes),
            send_buffer_bytes: sockets(Role::Sender, |sample| {
                sample
                    .sockets
                    .iter()
                    .map(|one| one.send_buffer_bytes)
                    .collect()
            }),
            receive_buffer_bytes: sockets(Role::Receiver, |sample| {
                sample
                    .sockets
                    .iter()
                    .map(|one| one.receive_buffer_bytes)
                    .collect()
            }),
            segment_bytes: connections(|tcp| tcp.snd_mss_bytes),
            bytes_per_packet: bytes_per_packet(run),
            retransmitted: again.zip(all).map(|(again, all)| again / all.max(1.0)),
            delivered_bps: delivered_bps(run),
            background_bps: background_bps(run),
        }
    }

    /// Bytes that fill the path at the delivered rate.
    pub fn in_flight_bytes(&self) -> Option<f64> {
        Some(self.rtt_us? / 1e6 * self.delivered_bps? / 8.0)
    }
}

/// The mean over all samples of the mean of their values; absent where none has values.
fn mean(end: &EndpointRecord, of: impl Fn(&Sample) -> Vec<Option<u32>>) -> Option<f64> {
    let values: Vec<f64> = end
        .samples
        .iter()
        .flat_map(|sample| of(sample).into_iter().flatten())
        .map(f64::from)
        .filter(|value| *value > 0.0)
        .collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// CPU time for each message, in ns.
fn busy_ns(run: &RunView, role: Role) -> Option<f64> {
    let (end, conditions): (&EndpointRecord, &Conditions) = (run.end(role), run.conditions);
    let (working, waiting) = cpu::first_part_seconds(end)?;
    let share = waiting / cpu::span_seconds(end)?;
    let busy = match Behind::of(run, role, share) {
        Behind::ReceiveWork => working + waiting,
        _ => working,
    };
    let (first, last) = (end.samples.first()?, end.samples.last()?);
    let messages = match role {
        Role::Receiver if conditions.workload.is_byte_stream() => {
            let bytes = last.counts.bytes.saturating_sub(first.counts.bytes);
            bytes as f64 / f64::from(conditions.message_size_bytes)
        }
        _ => last.counts.messages.saturating_sub(first.counts.messages) as f64,
    };
    (messages > 0.0 && busy > 0.0).then(|| 1e9 * busy / messages)
}

fn delivered_bps(run: &RunView) -> Option<f64> {
    let bytes = run.measured(Role::Receiver).bytes as f64;
    Some(8.0 * bytes / run.window_seconds(Role::Receiver)?)
}

fn background_bps(run: &RunView) -> f64 {
    if run.is_alone() {
        return 0.0;
    }
    let others = parts(run);
    let same =
        |part: &&crate::metrics::PartRun| part.conditions.direction == run.conditions.direction;
    let rates = others.iter().skip(1).filter(same);
    rates.filter_map(|part| delivered_bps(&part.view())).sum()
}

/// User data per packet of the sender, of a stream of TCP alone.
pub(super) fn bytes_per_packet(run: &RunView) -> Option<f64> {
    let is_stream = run.conditions.workload == Workload::TcpStream && run.is_alone();
    is_stream.then(|| figure_of(run, "sender_bytes_per_packet"))?
}
