//! What a run had of each resource that an experiment can change.

use bitcost_model::counters::SocketMemory;
use bitcost_model::record::{EndpointRecord, Role, Sample, TcpInfo};

use crate::explain::behind::Behind;
use crate::explain::series;
use crate::metrics::{Edges, RunView, cpu, in_fragments, parts};

/// What a run had of each resource; what its records do not give is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// CPU time of the sender and of the receiver for each message, in ns: that of the traffic
    /// threads, and the time that they wait for the kernel's receive work on their CPUs.
    pub busy_ns: [Option<f64>; 2],
    /// The same as a share of the time, of all threads together.
    pub busy: [Option<f64>; 2],
    /// The least round-trip time of the connections, in microseconds.
    pub rtt_us: Option<f64>,
    /// The receive window that the receiver announced, in bytes.
    pub window_bytes: Option<f64>,
    /// `SO_SNDBUF` of the sender as it is requested, in bytes.
    pub send_buffer_bytes: Option<f64>,
    /// `SO_RCVBUF` of the receiver as it is requested, in bytes.
    pub receive_buffer_bytes: Option<f64>,
    /// What waits in the sender's sockets, sent or not, in bytes.
    pub queued_bytes: Option<f64>,
    /// User data of a TCP segment, or the most that a datagram of one packet has where those of the run have more, in bytes.
    pub segment_bytes: Option<f64>,
    /// Segments retransmitted of those sent, as a share, without those that had arrived.
    pub retransmitted: Option<f64>,
    /// Rate of delivered user data, in bit/s.
    pub delivered_bps: Option<f64>,
    /// The same of the background workloads in the same direction.
    pub background_bps: f64,
    /// The time after which the rate stands, in seconds.
    pub ramp_s: Option<f64>,
    /// From then on the least and the greatest rate of parts of the run ÷ their mean.
    pub spread: Option<[f64; 2]>,
}

/// Of so many parts or more all but the fastest and the slowest are compared.
const MANY_PARTS: usize = 6;

/// The length of the parts whose rates are compared, in seconds, and in round trips.
const PART_S: f64 = 0.5;
const PART_RTTS: f64 = 10.0;

/// The rate stands from when it reaches this share of the mean of the run's second half.
const STANDS: f64 = 0.8;

impl Load {
    pub fn of(run: &RunView) -> Load {
        let socket = |role: Role, of: fn(&SocketMemory) -> u32| {
            let sizes = |sample: &Sample| sample.sockets.iter().map(|one| Some(of(one))).collect();
            mean(run.end(role), sizes)
        };
        let rtt_us = least_rtt_us(run);
        let (ramp_s, spread) = steadiness(run, rtt_us.unwrap_or(0.0)).unzip();
        let busy = Role::ALL.map(|role| busy(run, role));
        let edges = Edges::of(&run.sender.samples);
        let grown = |of: fn(&TcpInfo) -> Option<u32>| edges.as_ref()?.tcp(of);
        let lost = grown(|tcp| tcp.total_retrans).map(|again| {
            let in_vain = grown(|tcp| tcp.dsack_dups).unwrap_or(0.0);
            (again - in_vain).max(0.0)
        });
        let lost = lost.zip(grown(|tcp| tcp.data_segs_out));
        Load {
            busy_ns: Role::ALL.map(|role| busy_ns(run, role, busy[role as usize]?)),
            busy,
            rtt_us,
            window_bytes: connections(run, |tcp| tcp.snd_wnd_bytes),
            send_buffer_bytes: socket(Role::Sender, |one| one.send_buffer_bytes / 2),
            receive_buffer_bytes: socket(Role::Receiver, |one| one.receive_buffer_bytes / 2),
            queued_bytes: socket(Role::Sender, |one| one.send_queue_bytes),
            segment_bytes: connections(run, |tcp| tcp.snd_mss_bytes)
                .or_else(|| in_fragments(run).map(|(_, most)| f64::from(most))),
            retransmitted: lost.map(|(lost, all)| lost / all.max(1.0)),
            delivered_bps: delivered_bps(run),
            background_bps: background_bps(run),
            ramp_s,
            spread,
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
    series::mean(&values)
}

/// When the rate of a run with this round-trip time stands, and the least and greatest rate of its parts from then on ÷
/// their mean.
fn steadiness(run: &RunView, rtt_us: f64) -> Option<(f64, [f64; 2])> {
    let end = match run.is_read(Role::Receiver) {
        true => run.receiver,
        false => run.sender,
    };
    let rate = |step: Edges| Some((step.seconds, step.per_second(|counts| counts.bytes)?));
    let all: Vec<(f64, f64)> = Edges::steps(&end.samples).filter_map(rate).collect();
    let half: Vec<f64> = all[all.len() / 2..].iter().map(|(_, rate)| *rate).collect();
    let stands = STANDS * series::mean(&half)?;
    let ramping = all.iter().take_while(|(_, rate)| *rate < stands).count();
    let (ramp, rest) = all.split_at(ramping);
    let part_s = PART_S.max(PART_RTTS * rtt_us / 1e6);
    let (mut parts, mut part) = (Vec::new(), (0.0, 0.0));
    for (seconds, rate) in rest {
        part = (part.0 + seconds, part.1 + seconds * rate);
        if part.0 >= part_s {
            parts.push(part.1 / part.0);
            part = (0.0, 0.0);
        }
    }
    let mean = series::mean(&parts).filter(|mean| *mean > 0.0)?;
    parts.sort_by(f64::total_cmp);
    let counted = match parts.len() >= MANY_PARTS {
        true => &parts[1..parts.len() - 1],
        false => &parts,
    };
    let least = counted.iter().copied().fold(mean, f64::min);
    let most = counted.iter().copied().fold(mean, f64::max);
    let ramp_s = ramp.iter().map(|(seconds, _)| seconds).sum();
    Some((ramp_s, [least / mean, most / mean]))
}

/// CPUs that the traffic threads of an endpoint use, and the waiting for the kernel's receive work.
fn busy(run: &RunView, role: Role) -> Option<f64> {
    if run.conditions.spins(role) {
        return None;
    }
    let (working, waiting) = cpu::of_first_part(run.end(role))?;
    Some(match Behind::of(run, role, waiting) {
        Behind::ReceiveWork => working + waiting,
        _ => working,
    })
}

/// CPU time for each message, in ns.
fn busy_ns(run: &RunView, role: Role, busy: f64) -> Option<f64> {
    let conditions = run.conditions;
    let edges = Edges::of(&run.end(role).samples)?;
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
