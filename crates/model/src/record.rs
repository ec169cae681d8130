//! The record of one endpoint of a run: raw counters and samples, never derived figures.
//!
//! All times are nanoseconds of the endpoint's own `CLOCK_MONOTONIC`, unless a name says otherwise.

mod counts;
mod flow;
mod in_effect;
mod plausible;
mod program;
mod role;
mod sample;
mod times;
mod whole;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::counts::{Arrivals, Counts, PhaseCounts, Sequence};
pub use self::flow::{FlowRecord, PartRecord, SocketSizes};
pub use self::in_effect::{
    CACHED_METRICS, InEffect, NARROW_HOP, NO_CACHED_METRICS, OffloadsInEffect, PATH_MTU,
    RECEIVE_CPUS, SOFTIRQ_TIME, SOFTIRQS_TIMED,
};
pub use self::plausible::{LATE_PCT, implausible};
pub use self::program::Program;
pub use self::role::Role;
pub use self::sample::{CpuTicks, PartSample, Sample, States, Switches, ThreadKind, ThreadTime};
pub use self::times::{DelayVariation, Latency, Pacing};
pub use self::whole::WholeRun;
use crate::at_most::at_most;
use crate::counters::{CoreToCore, CpuSpeed, ForeignLoad};
use crate::profile::Profile;
pub use crate::tcp_info::TcpInfo;

/// The state of the CPUs of an endpoint's host before the block of a run, while bitcost made no
/// traffic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleBaseline {
    pub start_ns: u64,
    pub end_ns: u64,
    /// The ticks of each online CPU at the start.
    pub start: Vec<CpuTicks>,
    /// The ticks of each online CPU at the end.
    pub end: Vec<CpuTicks>,
}

impl IdleBaseline {
    /// The share of the CPUs' time, from 0 to 1, above which a host was busy before the block.
    pub const BUSY: f64 = 0.05;

    /// The share of the CPUs' ticks that were not idle, from 0 to 1; absent where none were counted.
    pub fn busy_share(&self) -> Option<f64> {
        let sum = |ticks: fn(&CpuTicks) -> u64| {
            let at = |cpus: &[CpuTicks]| cpus.iter().map(ticks).sum::<u64>();
            at(&self.end).saturating_sub(at(&self.start))
        };
        let all = sum(CpuTicks::all);
        (all > 0).then(|| sum(CpuTicks::busy) as f64 / all as f64)
    }
}

/// Everything that one endpoint knows about a run. The fields about traffic describe the run's
/// first part; the other parts are in [`EndpointRecord::background`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndpointRecord {
    /// The role of the endpoint in the run's first part.
    pub role: Role,
    /// Settings as requested and as read back.
    pub in_effect: Vec<InEffect>,
    /// Offloads as requested and as read back.
    pub offloads: OffloadsInEffect,
    /// CPUs that the traffic thread was confined to; empty: any.
    #[serde(deserialize_with = "at_most::<100_000, _, _>")]
    pub pinned_cpus: Vec<u32>,
    pub window_start_ns: u64,
    pub window_end_ns: u64,
    /// The counts of the loop in each phase. A receiver of `tcp_stream` and `tcp_connect` divides
    /// them by its own clock, all others by the sender's.
    pub counts: PhaseCounts,
    /// The result of the sequence numbers; receivers of UDP flows only.
    pub sequence: Option<Sequence>,
    /// `TCP_INFO` at the end of the run.
    pub tcp_info: Option<TcpInfo>,
    /// Times of the transactions, or of a stream's send calls; where they were requested, at the
    /// sender only.
    pub latency: Option<Latency>,
    /// Each flow separately; the fields above are the sums of all flows ([`FlowRecord::sum`]).
    #[serde(default, deserialize_with = "at_most::<50_000, _, _>")]
    pub flows: Vec<FlowRecord>,
    /// The parts after the first, in the order of [`crate::conditions::Conditions::parts`].
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most::<1000, _, _>"
    )]
    pub background: Vec<PartRecord>,
    /// Ticks per second of [`CpuTicks`] (`USER_HZ`).
    pub ticks_per_second: u64,
    /// The readings: the first at the window's start, the last at its end, one every 100 ms
    /// between; of a long window whose record had no room for them every second one, or every fourth, and so on.
    #[serde(deserialize_with = "at_most::<50_000, _, _>")]
    pub samples: Vec<Sample>,
    /// The state of the host before the run's block, while bitcost made no traffic; absent where it
    /// was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleBaseline>,
    /// CPU time of other programs on the host around the window; absent where not all processes
    /// can be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<ForeignLoad>,
    /// The speed of the endpoint's CPUs from before the warm-up to after the window; empty with
    /// `probes = "edges"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub speed: Vec<CpuSpeed>,
    /// The distance to the other endpoint's CPU, in the record of the endpoint that measured it;
    /// absent where the endpoints are on different machines or share their CPUs, with
    /// `probes = "edges"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_to_core: Option<CoreToCore>,
    /// Counters around the whole traffic; absent where another program
    /// played the endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Box<WholeRun>>,
    /// What the CPUs of the host did in the window, where the run is profiled; where both endpoints
    /// are on one machine, in the record of the endpoint that sampled them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Box<Profile>>,
    /// What an iperf3 server said of itself, where it played the endpoint. Everything else of its
    /// host is absent, and [`EndpointRecord::samples`] is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iperf3: Option<Iperf3Peer>,
    /// The program whose connections these are, where it is not bitcost that made the traffic. Of the other end
    /// only what these connections say is known, and [`EndpointRecord::samples`] is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Box<Program>>,
}

/// An iperf3 server's own figures of a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Iperf3Peer {
    /// CPU time of the server's process in the test, in percent of one CPU: in all, in user mode, in
    /// the kernel. Work that the kernel does for it elsewhere is not included.
    pub process_cpu_pct: Option<[f64; 3]>,
    /// TCP segments that the server retransmitted; absent where it did not send TCP.
    pub retransmitted: Option<u64>,
    /// The largest jitter of its streams (RFC 3550), in seconds; absent where it did not receive
    /// datagrams.
    pub jitter_s: Option<f64>,
}

impl Eq for Iperf3Peer {}

impl EndpointRecord {
    /// The other end, of which only the number of bytes is known: what was acknowledged has arrived, and what arrived was sent.
    #[must_use]
    pub fn not_read(&self) -> EndpointRecord {
        let counted = |flow: &FlowRecord| FlowRecord {
            counts: flow.counts,
            ..FlowRecord::default()
        };
        EndpointRecord {
            role: self.role.other(),
            window_start_ns: self.window_start_ns,
            window_end_ns: self.window_end_ns,
            counts: self.counts,
            flows: self.flows.iter().map(counted).collect(),
            ..EndpointRecord::default()
        }
    }

    /// The record of an endpoint from what it reported in the window; absent where that is nothing.
    pub fn of_readings(role: Role, samples: Vec<Sample>) -> Option<EndpointRecord> {
        let (first, last) = (samples.first()?.clone(), samples.last()?.clone());
        (first.at_ns < last.at_ns).then(|| EndpointRecord {
            role,
            window_start_ns: first.at_ns,
            window_end_ns: last.at_ns,
            counts: PhaseCounts {
                outside: first.counts,
                measured: last.counts.since(&first.counts),
            },
            tcp_info: last.tcp_info,
            samples,
            ..EndpointRecord::default()
        })
    }

    /// Length of the measured window, in seconds; 0 where it ends before it starts.
    pub fn window_seconds(&self) -> f64 {
        self.window_end_ns.saturating_sub(self.window_start_ns) as f64 / 1e9
    }
}
