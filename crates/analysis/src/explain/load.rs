//! What a run had of each resource that a perturbation can change.

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::counters::SocketMemory;
use bitcost_model::record::{EndpointRecord, Role, Sample, TcpInfo};

use crate::explain::others::Behind;
use crate::metrics::{Edges, RunView, cpu, figure_of, parts};

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
        let buffer = |role: Role, of: fn(&SocketMemory) -> u32| {
            let sizes = |sample: &Sample| sample.sockets.iter().map(|one| Some(of(one))).collect();
            mean(run.end(role), sizes).map(|bytes| bytes / 2.0)
        };
        let edges = Edges::of(&run.sender.samples);
        let grown = |of: fn(&TcpInfo) -> Option<u32>| edges.as_ref()?.tcp(of);
        let again = grown(|tcp| tcp.total_retrans).zip(grown(|tcp| tcp.data_segs_out));
        Load {
            busy_ns: [Role::Sender, Role::Receiver].map(|role| busy_ns(run, role)),
            rtt_us: least_rtt_us(run),
            window_bytes: connections(run, |tcp| tcp.snd_wnd_bytes),
            send_buffer_bytes: buffer(Role::Sender, |one| one.send_buffer_bytes),
            receive_buffer_bytes: buffer(Role::Receiver, |one| one.receive_buffer_bytes),
            segment_bytes: connections(run, |tcp| tcp.snd_mss_bytes),
            bytes_per_packet: bytes_per_packet(run),
            retransmitted: again.map(|(again, all)| again / all.max(1.0)),
            delivered_bps: delivered_bps(run),
            background_bps: background_bps(run),
        }
    }

    /// Bytes that fill the path at the delivered rate.
    pub fn in_flight_bytes(&self) -> Option<f64> {
        Some(self.rtt_us? / 1e6 * self.delivered_bps? / 8.0)
    }
}

/// The least round-trip time of the sender's connections, in microseconds.
pub(super) fn least_rtt_us(run: &RunView) -> Option<f64> {
    connections(run, |tcp| tcp.min_rtt_us)
}

/// The mean of a value of the sender's connections.
fn connections(run: &RunView, of: fn(&TcpInfo) -> Option<u32>) -> Option<f64> {
    let each = |sample: &Sample| sample.connections().iter().map(of).collect();
    mean(run.sender, each)
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
    let (working, waiting) = cpu::of_first_part(end)?;
    let busy = match Behind::of(run, role, waiting) {
        Behind::ReceiveWork => working + waiting,
        _ => working,
    };
    let edges = Edges::of(&end.samples)?;
    let messages = match role {
        Role::Receiver if conditions.workload.is_byte_stream() => {
            edges.per_second(|counts| counts.bytes)? / f64::from(conditions.message_size_bytes)
        }
        _ => edges.per_second(|counts| counts.messages)?,
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
