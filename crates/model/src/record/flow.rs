//! The record of one flow of an endpoint, and of one part of its run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DelayVariation, InEffect, Latency, Pacing, PhaseCounts, Role, Sequence};
use crate::tcp_info::TcpInfo;

/// Sizes of a flow's socket at one time; a size that the kernel does not report is absent. For
/// workloads that make a connection for each transaction the socket is the one that stays open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SocketSizes {
    /// Send buffer, in bytes as they are requested: half of the kernel's value (socket(7)).
    pub send_buffer_bytes: Option<u32>,
    pub receive_buffer_bytes: Option<u32>,
    /// User data per segment sent, in bytes; TCP only.
    pub mss_bytes: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowRecord {
    pub counts: PhaseCounts,
    /// The results of its sequence numbers; receivers of UDP flows only.
    pub sequence: Option<Sequence>,
    /// `TCP_INFO` at its end.
    pub tcp_info: Option<TcpInfo>,
    /// Times of its transactions, or of a stream's send calls; where they were requested, at the
    /// sender only.
    pub latency: Option<Latency>,
    /// The measurements of its pacing; senders that pace themselves only.
    pub pacing: Option<Pacing>,
    /// The differences of one-way delays; where they were requested, at the receiver only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_variation: Option<DelayVariation>,
    /// Its socket before the first message.
    #[serde(default)]
    pub at_start: SocketSizes,
    /// Its socket after the last one: TCP tunes buffers while it runs.
    #[serde(default)]
    pub at_end: SocketSizes,
    /// The low-water mark that a TCP receiver chose and set itself, as read back.
    pub low_water_bytes: Option<u32>,
}

impl FlowRecord {
    /// Several flows as one: counts are added, other values are those of the first flow.
    pub fn sum(flows: &[FlowRecord]) -> FlowRecord {
        let Some((first, rest)) = flows.split_first() else {
            return FlowRecord::default();
        };
        rest.iter().fold(first.clone(), |sum, flow| FlowRecord {
            counts: sum.counts.plus(&flow.counts),
            sequence: sum.sequence.zip(flow.sequence).map(|(a, b)| a.plus(&b)),
            tcp_info: sum
                .tcp_info
                .zip(flow.tcp_info.as_ref())
                .map(|(a, b)| a.plus(b)),
            low_water_bytes: sum.low_water_bytes,
            pacing: sum.pacing.zip(flow.pacing).map(|(a, b)| a.plus(&b)),
            delay_variation: sum
                .delay_variation
                .zip(flow.delay_variation.as_ref())
                .map(|(a, b)| a.plus(b)),
            at_start: sum.at_start,
            at_end: sum.at_end,
            latency: sum
                .latency
                .zip(flow.latency.as_ref())
                .map(|(a, b)| a.plus(b)),
        })
    }
}

/// The record of one endpoint about a part of the run after the first. Its window is that of the
/// endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartRecord {
    pub role: Role,
    /// Settings as requested and as read back.
    pub in_effect: Vec<InEffect>,
    /// All of its flows together ([`FlowRecord::sum`]).
    #[serde(flatten)]
    pub all: FlowRecord,
    pub flows: Vec<FlowRecord>,
}
