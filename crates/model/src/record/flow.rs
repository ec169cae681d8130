//! What one flow of an end, and one part of its run, left behind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{DelayVariation, InForce, Latency, Pacing, PhaseCounts, Role, Sequence};
use crate::tcp_info::TcpInfo;

/// Sizes of a flow's socket at one time; what the kernel does not tell is absent. Of workloads that make a connection
/// for each transaction it is the socket that stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketSizes {
    /// Send buffer, in bytes as they are asked for: half of what the kernel reports (socket(7)).
    pub send_buffer_bytes: Option<u32>,
    /// Receive buffer, in the same bytes.
    pub receive_buffer_bytes: Option<u32>,
    /// User data per segment sent, in bytes; TCP only.
    pub mss_bytes: Option<u32>,
}

/// What one flow of an end left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRecord {
    /// What its loop counted in each phase.
    pub counts: PhaseCounts,
    /// What its sequence numbers told; receivers of UDP flows only.
    pub sequence: Option<Sequence>,
    /// `TCP_INFO` at its end.
    pub tcp_info: Option<TcpInfo>,
    /// Times of its transactions, or of a stream's send calls; where they were asked for, at the sender only.
    #[serde(default)]
    pub latency: Option<Latency>,
    /// What its pacing did; senders that pace themselves only.
    #[serde(default)]
    pub pacing: Option<Pacing>,
    /// How one-way delays differed; where it was asked for, at the receiver only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_variation: Option<DelayVariation>,
    /// Its socket before the first message.
    #[serde(default)]
    pub at_begin: SocketSizes,
    /// Its socket after the last one: TCP tunes buffers while it runs.
    #[serde(default)]
    pub at_end: SocketSizes,
    /// What only its fast mode counts, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mode_counters: BTreeMap<String, u64>,
    /// The low-water mark that a TCP receiver set by itself, as read back.
    #[serde(default)]
    pub low_water_bytes: Option<u32>,
}

impl FlowRecord {
    /// Several flows as one: counters are added, what is no counter is the first flow's.
    pub fn sum(flows: &[FlowRecord]) -> FlowRecord {
        let Some((first, rest)) = flows.split_first() else { return FlowRecord::default() };
        rest.iter().fold(first.clone(), |sum, flow| FlowRecord {
            counts: sum.counts.plus(&flow.counts),
            sequence: sum.sequence.zip(flow.sequence).map(|(a, b)| a.plus(&b)),
            tcp_info: sum.tcp_info.zip(flow.tcp_info.as_ref()).map(|(a, b)| a.plus(b)),
            low_water_bytes: sum.low_water_bytes,
            pacing: sum.pacing.zip(flow.pacing).map(|(a, b)| a.plus(&b)),
            delay_variation: sum.delay_variation.zip(flow.delay_variation.as_ref()).map(|(a, b)| a.plus(b)),
            at_begin: sum.at_begin,
            at_end: sum.at_end,
            mode_counters: flow.mode_counters.iter().fold(sum.mode_counters, |mut counters, (name, count)| {
                *counters.entry(name.clone()).or_default() += count;
                counters
            }),
            latency: sum.latency.zip(flow.latency.as_ref()).map(|(a, b)| a.plus(b)),
        })
    }
}

/// What one end knows about a part of the run beside the first. Its window is that of the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// What the end plays in it.
    pub role: Role,
    /// Settings as asked and as read back.
    pub in_force: Vec<InForce>,
    /// All of its flows together ([`FlowRecord::sum`]).
    #[serde(flatten)]
    pub all: FlowRecord,
    /// Each flow by itself.
    pub flows: Vec<FlowRecord>,
}
