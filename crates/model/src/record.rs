//! What one end of a run leaves behind: raw counters and samples, never derived figures.
//!
//! All times are nanoseconds of the end's own `CLOCK_MONOTONIC`, unless a name says otherwise.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counters::{CpuInterrupts, Frequency, Interface, Line, Queue, SocketMemory, Softnet, Throttling};
pub use crate::tcp_info::TcpInfo;

/// The part that an end plays in a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Makes the traffic.
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

/// What a traffic loop counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Send or receive calls that moved data.
    pub calls: u64,
    /// Messages handed over whole (sender), or datagrams received (receiver); a TCP receiver cannot see
    /// messages. Where the sender asks: whole transactions, at both ends.
    pub messages: u64,
    /// Bytes of user data. Where the sender asks: of requests and responses together, at both ends.
    pub bytes: u64,
    /// Calls that moved less than was asked (TCP sender only).
    pub short_calls: u64,
    /// Calls that failed and were not counted otherwise (full queues, refused datagrams).
    pub failed_calls: u64,
    /// Requests that were given up without an answer; they are not among the messages.
    #[serde(default)]
    pub unanswered: u64,
    /// Calls that found nothing to take (`EAGAIN`): those of a receiver that spins, waits that timed out, and
    /// where flows share threads also send calls that found no room.
    #[serde(default)]
    pub empty_calls: u64,
    /// Calls that asked which flows are ready (`epoll_wait`), where flows share threads; counted at the
    /// first flow of each thread.
    #[serde(default)]
    pub wait_calls: u64,
    /// Times that the loop itself went to sleep: to keep its rate, or between receive calls where a run asks for that.
    #[serde(default)]
    pub sleeps: u64,
    /// How long these took together, in ns; each is counted when it ends. Sleeps within a send or receive call are not
    /// among them.
    #[serde(default)]
    pub slept_ns: u64,
}

impl Counts {
    /// The sum of two counts.
    #[must_use]
    pub fn plus(&self, other: &Counts) -> Counts {
        Counts {
            calls: self.calls + other.calls,
            messages: self.messages + other.messages,
            bytes: self.bytes + other.bytes,
            short_calls: self.short_calls + other.short_calls,
            failed_calls: self.failed_calls + other.failed_calls,
            unanswered: self.unanswered + other.unanswered,
            empty_calls: self.empty_calls + other.empty_calls,
            wait_calls: self.wait_calls + other.wait_calls,
            sleeps: self.sleeps + other.sleeps,
            slept_ns: self.slept_ns + other.slept_ns,
        }
    }

    /// What came after an earlier reading of the same counters.
    #[must_use]
    pub fn since(&self, earlier: &Counts) -> Counts {
        Counts {
            calls: self.calls - earlier.calls,
            messages: self.messages - earlier.messages,
            bytes: self.bytes - earlier.bytes,
            short_calls: self.short_calls - earlier.short_calls,
            failed_calls: self.failed_calls - earlier.failed_calls,
            unanswered: self.unanswered - earlier.unanswered,
            empty_calls: self.empty_calls - earlier.empty_calls,
            wait_calls: self.wait_calls - earlier.wait_calls,
            sleeps: self.sleeps - earlier.sleeps,
            slept_ns: self.slept_ns - earlier.slept_ns,
        }
    }
}

/// The counts of a run, divided by the sender's clock, whose phase each datagram carries; a TCP receiver
/// divides by its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseCounts {
    /// Before and after the measured window.
    pub outside: Counts,
    /// The measured window.
    pub measured: Counts,
}

impl PhaseCounts {
    /// The sum of two flows' counts.
    #[must_use]
    pub fn plus(&self, other: &PhaseCounts) -> PhaseCounts {
        PhaseCounts { outside: self.outside.plus(&other.outside), measured: self.measured.plus(&other.measured) }
    }

    /// All that was counted.
    pub fn total(&self) -> Counts {
        self.outside.plus(&self.measured)
    }
}

/// What the sequence numbers of a UDP flow told the receiver. Needs messages of 8 bytes or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Datagrams of the measured window that were sent, by the sender's count.
    pub measured_sent: u64,
    /// Of these, how many never came.
    pub measured_lost: u64,
    /// Datagrams of the whole run that never came.
    pub total_lost: u64,
    /// Datagrams that came after a later one.
    pub reordered: u64,
    /// Datagrams that came more than once.
    pub duplicated: u64,
    /// Datagrams that came so late that it cannot be told whether they came before; they count as lost.
    #[serde(default)]
    pub late: u64,
    /// Those of the measured window alone; absent in logs of versions that did not count them.
    #[serde(default)]
    pub measured: Option<Arrivals>,
}

/// Datagrams of the measured window that did not come in order and in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Came after a later one.
    pub reordered: u64,
    /// Came more than once.
    pub duplicated: u64,
    /// Came so late that it cannot be told whether they came before; they count as lost.
    pub late: u64,
    /// Came after the receiver's own window had ended; they count as received.
    pub after_window: u64,
}

impl Arrivals {
    /// The sum of two flows' counts.
    #[must_use]
    pub fn plus(&self, other: &Arrivals) -> Arrivals {
        Arrivals {
            reordered: self.reordered + other.reordered,
            duplicated: self.duplicated + other.duplicated,
            late: self.late + other.late,
            after_window: self.after_window + other.after_window,
        }
    }
}

impl Sequence {
    /// The sum of two flows' numbers.
    #[must_use]
    pub fn plus(&self, other: &Sequence) -> Sequence {
        Sequence {
            measured_sent: self.measured_sent + other.measured_sent,
            measured_lost: self.measured_lost + other.measured_lost,
            total_lost: self.total_lost + other.total_lost,
            reordered: self.reordered + other.reordered,
            duplicated: self.duplicated + other.duplicated,
            late: self.late + other.late,
            measured: self.measured.zip(other.measured).map(|(a, b)| a.plus(&b)),
        }
    }
}

/// One CPU's times from `/proc/stat`, in ticks of [`EndRecord::ticks_per_second`] (kernel doc: proc, 1.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTicks {
    /// CPU number.
    pub cpu: u32,
    /// user + nice.
    pub user: u64,
    /// system.
    pub system: u64,
    /// hard interrupts.
    pub irq: u64,
    /// soft interrupts.
    pub softirq: u64,
    /// taken by the hypervisor.
    pub steal: u64,
    /// idle.
    pub idle: u64,
    /// idle while I/O was outstanding.
    pub iowait: u64,
}

impl CpuTicks {
    /// Every tick, as netperf sums them.
    pub fn all(&self) -> u64 {
        self.user + self.system + self.irq + self.softirq + self.steal + self.idle + self.iowait
    }

    /// Ticks in which the CPU was at work.
    pub fn busy(&self) -> u64 {
        self.user + self.system + self.irq + self.softirq + self.steal
    }
}

/// What a thread is for, in a [`ThreadTime`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
/// Of the agent's own threads `run_ns` is their CPU clock and exact; of a kernel thread that runs
/// at the reading it may be as old as the last tick (4 ms at 250 Hz).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTime {
    /// What the thread is for.
    pub kind: ThreadKind,
    /// The part of the run that a traffic thread belongs to ([`crate::conditions::Conditions::parts`]).
    #[serde(default, skip_serializing_if = "is_first")]
    pub part: u32,
    /// Time on a CPU, in ns.
    pub run_ns: u64,
    /// Time runnable and waiting for a CPU, in ns.
    pub wait_ns: u64,
    /// Times it was put on a CPU.
    pub slices: u64,
    /// How often it left one; absent where that was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<Switches>,
}

/// Context switches of a thread (`/proc/PID/task/TID/status`, getrusage(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switches {
    /// It slept: each is followed by a wakeup.
    pub voluntary: u64,
    /// Another thread took its CPU.
    pub involuntary: u64,
}

fn is_first(part: &u32) -> bool {
    *part == 0
}

/// One reading of everything that one end can see, by its own clock.
///
/// The readings of a window are the first at its begin, the last at its end, and those between. What is marked *edges* is in the
/// first and the last only, because it takes long to read or tells little by the tenth of a second (`probe::PROBES`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When it began.
    pub at_ns: u64,
    /// What the traffic loops of the run's first part had counted in all.
    pub counts: Counts,
    /// Each online CPU; empty where `/proc/stat` cannot be read.
    pub cpus: Vec<CpuTicks>,
    /// Threads of this end; a thread whose times cannot be read is absent.
    pub threads: Vec<ThreadTime>,
    /// CPU time of the agent with all its threads, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_ns: Option<u64>,
    /// `TCP_INFO` of all connections of that part together ([`TcpInfo::plus`]); absent where there is none, where one cannot be
    /// read, and between the window's edges where there are many flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_info: Option<TcpInfo>,
    /// `TCP_INFO` of each connection of that part, in the order of its flows; empty where there is one only, which
    /// is `tcp_info` then ([`Sample::connections`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<TcpInfo>,
    /// Memory and drops of each flow's socket of that part, in the order of the flows; absent as `tcp_info` is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<SocketMemory>,
    /// The same of the parts beside it, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<PartSample>,
    /// Queueing disciplines: of the end's interface, and, told by the host called sender, of every interface of the lab between the
    /// ends. A device without a queue (`noqueue`) has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Queue>,
    /// Delay lines of the lab, told by the host called sender; at most 10 ms old.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
    /// Interfaces, the same ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
    /// Soft interrupts for received packets, of each online CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub softnet: Vec<Softnet>,
    /// What CPU quotas held back; absent where no group of the end has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttling: Option<Throttling>,
    /// *Edges.* Counters of the network namespace's protocols, by group and name: `Udp.RcvbufErrors`, `Tcp.RetransSegs`,
    /// `TcpExt.TCPTimeouts`, `Udp6.RcvbufErrors` (`/proc/net/snmp`, `netstat`, `snmp6`; kernel doc: networking/snmp_counter).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub protocols: BTreeMap<String, i64>,
    /// *Edges.* Interrupts of each CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupts: Vec<CpuInterrupts>,
    /// *Edges.* Frequency of each CPU; empty where the kernel does not govern it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frequencies: Vec<Frequency>,
    /// *Edges.* The driver's own counters of the end's interface (`ethtool -S`), by its names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub driver: BTreeMap<String, u64>,
}

impl Sample {
    /// `TCP_INFO` of each connection of the run's first part, in the order of its flows.
    pub fn connections(&self) -> &[TcpInfo] {
        each(&self.tcp_info, &self.connections)
    }
}

/// What a reading tells of a part beside the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartSample {
    /// What its loops had counted in all.
    pub counts: Counts,
    /// `TCP_INFO` of its connections, as in [`Sample::tcp_info`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_info: Option<TcpInfo>,
    /// Of each, as in [`Sample::connections`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<TcpInfo>,
    /// As in [`Sample::sockets`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<SocketMemory>,
}

impl PartSample {
    /// `TCP_INFO` of each connection of the part, in the order of its flows.
    pub fn connections(&self) -> &[TcpInfo] {
        each(&self.tcp_info, &self.connections)
    }
}

/// One connection stands in the sum only.
fn each<'a>(sum: &'a Option<TcpInfo>, connections: &'a [TcpInfo]) -> &'a [TcpInfo] {
    match sum {
        Some(only) if connections.is_empty() => std::slice::from_ref(only),
        _ => connections,
    }
}

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

/// Times of the answered transactions of the measured window, or of a stream's send calls: an HdrHistogram of three
/// significant digits, from 1 ns to 60 s.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Sum of all times, exact, in ns.
    pub sum_ns: u64,
    /// The longest time, exact, in ns.
    pub max_ns: u64,
    /// Longest time of each bucket that is not empty, in ns, with how many times fell into it; shortest first.
    /// Times over 60 s are in the last bucket.
    pub buckets: Vec<(u64, u64)>,
}

impl Latency {
    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// The times of two flows together.
    #[must_use]
    pub fn plus(&self, other: &Latency) -> Latency {
        let mut buckets: BTreeMap<u64, u64> = self.buckets.iter().copied().collect();
        for (value_ns, count) in &other.buckets {
            *buckets.entry(*value_ns).or_default() += count;
        }
        Latency {
            sum_ns: self.sum_ns.saturating_add(other.sum_ns),
            max_ns: self.max_ns.max(other.max_ns),
            buckets: buckets.into_iter().collect(),
        }
    }
}

/// How one-way delays differed from datagram to datagram, in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayVariation {
    /// Differences of delay, without sign, between datagrams that were sent and came one after the other (RFC 3393).
    pub differences: Latency,
    /// Interarrival jitter after the last one (RFC 3550, 6.4.1), in ns; of several flows the greatest.
    pub jitter_ns: u64,
}

impl DelayVariation {
    /// Two flows' together.
    #[must_use]
    pub fn plus(&self, other: &DelayVariation) -> DelayVariation {
        DelayVariation {
            differences: self.differences.plus(&other.differences),
            jitter_ns: self.jitter_ns.max(other.jitter_ns),
        }
    }
}

/// What a sender that paces itself did, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pacing {
    /// Messages that went together.
    pub burst_messages: u64,
    /// Bursts.
    pub bursts: u64,
    /// Time from the first burst to the end, in ns.
    pub elapsed_ns: u64,
    /// CPU time of the waiting itself, in ns.
    pub cpu_ns: u64,
    /// By how much bursts came after their time, together, in ns.
    pub late_total_ns: u64,
    /// By how much the latest one did, in ns.
    pub late_max_ns: u64,
    /// Shortest time between two bursts, in ns.
    pub gap_min_ns: u64,
    /// Longest time between two bursts, in ns.
    pub gap_max_ns: u64,
    /// Times between two bursts that were measured.
    #[serde(default)]
    pub gaps: u64,
    /// By how much these differed from the intended time, without sign, together, in ns.
    #[serde(default)]
    pub gap_deviation_total_ns: u64,
}

impl Pacing {
    /// Two flows' together: counts and times are added, but for the longest of the times from begin to end.
    #[must_use]
    pub fn plus(&self, other: &Pacing) -> Pacing {
        let least = |a: &Pacing, b: &Pacing| if a.bursts < 2 { b.gap_min_ns } else { a.gap_min_ns.min(b.gap_min_ns) };
        Pacing {
            burst_messages: self.burst_messages,
            bursts: self.bursts + other.bursts,
            elapsed_ns: self.elapsed_ns.max(other.elapsed_ns),
            cpu_ns: self.cpu_ns + other.cpu_ns,
            late_total_ns: self.late_total_ns + other.late_total_ns,
            late_max_ns: self.late_max_ns.max(other.late_max_ns),
            gap_min_ns: if other.bursts < 2 { self.gap_min_ns } else { least(self, other) },
            gap_max_ns: self.gap_max_ns.max(other.gap_max_ns),
            gaps: self.gaps + other.gaps,
            gap_deviation_total_ns: self.gap_deviation_total_ns + other.gap_deviation_total_ns,
        }
    }
}

/// What the engine's own loop cost without the kernel, measured beside the traffic: the fastest of several batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfCost {
    /// Messages of the batch, or receive calls of a TCP receiver.
    pub messages: u64,
    /// Its length, in ns.
    pub elapsed_ns: u64,
}

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
