//! What one end of a run leaves behind: raw counters and samples, never derived figures.
//!
//! All times are nanoseconds of the end's own `CLOCK_MONOTONIC`, unless a name says otherwise.

mod counts;
mod flow;
mod plausible;
mod sample;
mod times;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::counts::{Arrivals, Counts, PhaseCounts, Sequence};
pub use self::flow::{FlowRecord, PartRecord, SocketSizes};
pub use self::plausible::{LATE_PCT, implausible};
pub use self::sample::{CpuTicks, PartSample, Sample, Switches, ThreadKind, ThreadTime};
pub use self::times::{DelayVariation, Latency, Pacing, SelfCost};
pub use crate::tcp_info::TcpInfo;

/// The part that an end plays in a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Makes the traffic.
    #[default]
    Sender,
    /// Takes it.
    Receiver,
}

impl Role {
    /// The word for people.
    pub fn name(self) -> &'static str {
        match self {
            Role::Sender => "sender",
            Role::Receiver => "receiver",
        }
    }

    /// The role of the other end.
    #[must_use]
    pub fn other(self) -> Role {
        match self {
            Role::Sender => Role::Receiver,
            Role::Receiver => Role::Sender,
        }
    }
}

/// The name of the entry of [`InForce`] that tells what TCP connections began with: what the kernel remembered of earlier
/// ones to the peer (`ip tcp_metrics`). Its value is absent where the kernel does not tell.
pub const CACHED_METRICS: &str = "tcp_metrics";
/// The value of that entry where nothing was remembered.
pub const NO_CACHED_METRICS: &str = "none";

/// A setting as it was asked for and as it was read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// Its name, with the unit last.
    pub name: String,
    /// What was asked; absent: nothing, the host's own value is shown.
    pub asked: Option<String>,
    /// What was read back; absent: it cannot be read.
    pub actual: Option<String>,
}

/// The offload bits of one end during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffloadsInForce {
    /// Interface that was set.
    pub device: String,
    /// Bits that the run asked for, by kernel name.
    pub asked: BTreeMap<String, bool>,
    /// Active bits as read back, of those asked for (all `tso gso gro lro` bits when nothing was asked).
    pub active: BTreeMap<String, bool>,
    /// Bits whose active state is not the one asked for.
    pub mismatched: Vec<String>,
}

/// What the CPUs of an end's host did while nothing of bitcost went on, before the block of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleBaseline {
    /// When the stretch began.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Each online CPU at its begin.
    pub begin: Vec<CpuTicks>,
    /// Each online CPU at its end.
    pub end: Vec<CpuTicks>,
}

/// Everything that one end knows about a run. What it says of traffic is of the run's first part; other
/// parts are in [`EndRecord::beside`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRecord {
    /// Which end: what it plays in the run's first part.
    pub role: Role,
    /// Settings as asked and as read back.
    pub in_force: Vec<InForce>,
    /// Offloads as asked and as read back.
    pub offloads: OffloadsInForce,
    /// CPUs that the traffic thread was confined to; empty: any.
    pub pinned_cpus: Vec<u32>,
    /// Begin of the measured window, as it happened.
    pub window_begin_ns: u64,
    /// End of the measured window, as it happened.
    pub window_end_ns: u64,
    /// What the loop counted in each phase. A receiver of `tcp_stream` and `tcp_connect` divides by
    /// its own clock, all others by the sender's.
    pub counts: PhaseCounts,
    /// What the sequence numbers told; receivers of UDP flows only.
    pub sequence: Option<Sequence>,
    /// `TCP_INFO` at the end of the run.
    pub tcp_info: Option<TcpInfo>,
    /// Times of the transactions, or of a stream's send calls; where they were asked for, at the sender only.
    #[serde(default)]
    pub latency: Option<Latency>,
    /// Each flow by itself; the fields above are of all together ([`FlowRecord::sum`]).
    #[serde(default)]
    pub flows: Vec<FlowRecord>,
    /// The parts beside the first, in the order of [`crate::conditions::Conditions::parts`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<PartRecord>,
    /// What the loop of this end costs without the kernel; absent in fast modes, and where a workload makes connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_cost: Option<SelfCost>,
    /// Ticks per second of [`CpuTicks`] (`USER_HZ`).
    pub ticks_per_second: u64,
    /// The readings: the first at the window's begin, the last at its end, every 100 ms between.
    pub samples: Vec<Sample>,
    /// What the host did before the run's block, with nothing of bitcost at work; absent where that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleBaseline>,
}

impl EndRecord {
    /// Length of the measured window, in seconds.
    pub fn window_seconds(&self) -> f64 {
        (self.window_end_ns - self.window_begin_ns) as f64 / 1e9
    }
}
