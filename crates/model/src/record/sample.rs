//! Readings of the counters that an endpoint can see.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Counts;
use crate::at_most::at_most;
use crate::counters::{
    Card, Interface, LinkEmulator, Queue, SocketMemory, SoftirqTime, Softnet, Throttling,
};
use crate::cpu_list::CPUS_MOST;
use crate::tcp_info::TcpInfo;

/// One CPU's times from `/proc/stat`, in ticks of [`super::EndpointRecord::ticks_per_second`]
/// (kernel doc: proc, 1.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTicks {
    pub cpu: u32,
    /// user + nice.
    pub user: u64,
    pub system: u64,
    /// hard interrupts.
    pub irq: u64,
    /// soft interrupts.
    pub softirq: u64,
    /// taken by the hypervisor.
    pub steal: u64,
    pub idle: u64,
    /// idle while I/O was outstanding.
    pub iowait: u64,
}

impl CpuTicks {
    /// The sum of all ticks, as netperf computes it.
    pub fn all(&self) -> u64 {
        self.busy()
            .saturating_add(self.idle)
            .saturating_add(self.iowait)
    }

    pub fn busy(&self) -> u64 {
        [self.user, self.system, self.irq, self.softirq, self.steal]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// The purpose of a thread, in a [`ThreadTime`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadKind {
    /// Sends or receives the messages.
    Traffic,
    /// Kernel thread that handles what the interface received.
    Napi,
    /// Samples the counters.
    Monitor,
}

/// A thread's time as the scheduler counts it (`/proc/PID/task/TID/schedstat`).
///
/// `run_ns` of the agent's own threads is their CPU clock and exact; that of a kernel thread that
/// runs at the time of the reading may be as old as the last tick (4 ms at 250 Hz).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadTime {
    pub kind: ThreadKind,
    /// The part of the run that a traffic thread belongs to
    /// ([`crate::conditions::Conditions::parts`]).
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub part: u32,
    /// Time on a CPU, in ns.
    pub run_ns: u64,
    /// Time runnable and waiting for a CPU, in ns.
    pub wait_ns: u64,
    /// The number of times that it was put on a CPU.
    pub slices: u64,
    /// The number of times that it left one; absent where this was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<Switches>,
    /// The states in which it was found so far; absent where nothing looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<States>,
}

/// Context switches of a thread (`/proc/PID/task/TID/status`, getrusage(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Switches {
    /// The thread slept: each of these is followed by a wake-up.
    pub voluntary: u64,
    pub involuntary: u64,
}

/// How often a thread was found in a state (`/proc/PID/task/TID/stat`, proc_pid_stat(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct States {
    pub looks: u64,
    /// Stopped by a signal or a tracer (T, t).
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub stopped: u64,
    /// In uninterruptible sleep (D): it waits for a disk, or for memory.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub uninterruptible: u64,
}

/// One reading of everything that one endpoint can see, by its own clock.
///
/// The readings of a window are the first at its start, the last at its end, and those between.
/// Fields that are marked *edges* are only in the first and the last, because reading them takes
/// long or every 100 ms adds little (`probe::PROBES`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The time at which the reading started.
    pub at_ns: u64,
    /// The total counts of the traffic loops of the run's first part.
    pub counts: Counts,
    /// Each online CPU; empty where `/proc/stat` cannot be read.
    #[serde(deserialize_with = "at_most::<CPUS_MOST, _, _>")]
    pub cpus: Vec<CpuTicks>,
    /// Threads of this endpoint; a thread whose times cannot be read is absent.
    pub threads: Vec<ThreadTime>,
    /// Time since the window's start for which timers of the agent came late although it did not wait for a CPU: it was
    /// stopped, alone or with its machine.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub paused_ns: u64,
    /// `TCP_INFO` of all connections of that part together ([`TcpInfo::plus`]); absent where there
    /// is none, where one cannot be read, and between the window's edges where there are many
    /// flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_info: Option<TcpInfo>,
    /// `TCP_INFO` of each connection of that part, in the order of its flows; empty where there is
    /// only one, which is then `tcp_info` ([`Sample::connections`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<TcpInfo>,
    /// Memory and drops of each flow's socket of that part, in the order of the flows; absent where
    /// `tcp_info` is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<SocketMemory>,
    /// The same readings of the other parts, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<PartSample>,
    /// Queueing disciplines of the endpoint's interface; the host called sender also reports those
    /// of every interface of the lab between the endpoints. A device without a queue (`noqueue`)
    /// has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Queue>,
    /// Link emulators of the lab, as read on the host called sender; the values are at most 10 ms
    /// old.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emulators: Vec<LinkEmulator>,
    /// Counters of the same interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
    /// Soft interrupts for received packets, of each online CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub softnet: Vec<Softnet>,
    /// Throttling by CPU quotas; absent where no group of the endpoint has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttling: Option<Throttling>,
    /// *Edges.* Counters of the network namespace's protocols, by group and name:
    /// `Udp.RcvbufErrors`, `Tcp.RetransSegs`, `TcpExt.TCPTimeouts`, `Udp6.RcvbufErrors`
    /// (`/proc/net/snmp`, `netstat`, `snmp6`; kernel doc: networking/snmp_counter).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub protocols: BTreeMap<String, i64>,
    /// *Edges.* The card of the endpoint's interface; absent of a virtual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Box<Card>>,
    /// *Edges.* Soft interrupts of the CPUs of both endpoints on one machine, at the endpoint that
    /// times them; empty where they are not timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub softirqs: Vec<SoftirqTime>,
}

impl Sample {
    /// `TCP_INFO` of each connection of the run's first part, in the order of its flows.
    pub fn connections(&self) -> &[TcpInfo] {
        match &self.tcp_info {
            Some(only) if self.connections.is_empty() => std::slice::from_ref(only),
            _ => &self.connections,
        }
    }

    /// The reading of a part, by its place among all parts; absent where there is none.
    pub fn part(&self, place: usize) -> Option<PartSample> {
        match place.checked_sub(1) {
            Some(later) => self.background.get(later).cloned(),
            None => Some(PartSample {
                counts: self.counts,
                tcp_info: self.tcp_info.clone(),
                connections: self.connections.clone(),
                sockets: self.sockets.clone(),
            }),
        }
    }
}

/// The reading of a part after the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartSample {
    /// The total counts of its loops.
    pub counts: Counts,
    /// `TCP_INFO` of its connections, as in [`Sample::tcp_info`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_info: Option<TcpInfo>,
    /// `TCP_INFO` of each connection, as in [`Sample::connections`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<TcpInfo>,
    /// Memory and drops of each socket, as in [`Sample::sockets`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<SocketMemory>,
}
