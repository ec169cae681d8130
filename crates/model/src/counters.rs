//! Counters of a host, as its kernel publishes them. A counter that the host does not report is
//! absent.
//!
//! Every counter starts at some time before the run: only the difference of two readings has a
//! meaning. Counters that the kernel keeps in 32 bits are `u32` here, and continue from 0 when they
//! are full (`wrapping_sub`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cpu_list::parse_cpu_list;

/// A socket's memory and what it dropped (`SO_MEMINFO`, linux/sock_diag.h, Linux 4.12). Bytes are
/// those of the kernel's own accounting, with its overhead for each packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SocketMemory {
    /// Received and not yet taken.
    pub receive_queue_bytes: u32,
    /// The most that may be there: twice what `SO_RCVBUF` asks for.
    pub receive_buffer_bytes: u32,
    /// Handed to the device and not yet sent by it.
    pub send_allocated_bytes: u32,
    /// The most that the send queue may hold: twice what `SO_SNDBUF` asks for.
    pub send_buffer_bytes: u32,
    /// Written and not yet acknowledged (TCP).
    pub send_queue_bytes: u32,
    /// Packets dropped because the socket had no space for them, as `SO_RXQ_OVFL` counts them.
    pub drops: u32,
}

/// The work of one CPU's soft interrupt for received packets (`/proc/net/softnet_stat`,
/// net/core/net-procfs.c).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Softnet {
    /// CPU number; before Linux 5.10 the line's number, which is the same where every CPU is
    /// online.
    pub cpu: u32,
    /// Packets that found the CPU's backlog full (`net.core.netdev_max_backlog`).
    pub dropped: u32,
}

/// An interface's counters (`/proc/net/dev`; the meanings: linux/if_link.h, `rtnl_link_stats64`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interface {
    /// The node of the lab between the endpoints that has it; absent: the endpoint's own host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    pub device: String,
    /// Bytes received, with Ethernet headers.
    pub rx_bytes: u64,
    /// Packets received; packets that offloads joined count as one.
    pub rx_packets: u64,
    /// Received packets that were broken.
    pub rx_errors: u64,
    /// Received packets that were dropped before the protocols saw them, including missed ones.
    pub rx_dropped: u64,
    /// Bytes sent, with Ethernet headers.
    pub tx_bytes: u64,
    /// Packets sent; a super-packet that is not yet segmented counts as one.
    pub tx_packets: u64,
    /// Packets that could not be sent.
    pub tx_errors: u64,
    /// Packets dropped on the way out, after the queueing discipline.
    pub tx_dropped: u64,
}

/// A queueing discipline's counters (`TCA_STATS2`, linux/gen_stats.h).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// The node of the lab between the endpoints where it is; absent: the endpoint's own host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    pub device: String,
    /// Its kind, such as `pfifo`.
    pub kind: String,
    /// Its handle, as `tc` writes it: `8001:`.
    pub handle: String,
    /// The class it hangs below, as `tc` writes it; absent: it is the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Bytes that left it, with Ethernet headers.
    pub bytes: u64,
    /// Packets that left it; a TCP super-packet counts as its segments.
    pub packets: u64,
    pub drops: u32,
    /// Packets that wait in it now; this is not a counter.
    pub backlog_packets: u32,
    /// The rate that it is set to, in bit/s; absent where it has none, or where that is not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// The share of packets that it is set to drop at random, in millionths (tc-netem(8)); absent where it drops none so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_ppm: Option<u64>,
}

/// The card of an interface, and its place in the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Card {
    pub driver: String,
    /// Its address on its bus, such as `0000:18:00.0`.
    pub address: String,
    /// The NUMA node that it is attached to; absent where the machine has one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// The CPUs of that node, as the kernel lists them: `0-63,128-191`; empty where the kernel does not tell.
    pub near_cpus: String,
    /// The CPUs that each of its interrupts may reach, by the interrupt's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub interrupts: BTreeMap<String, String>,
    /// How many of them CPUs have handled; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<u64>,
    /// The rate of its link, in Mbit/s; absent where there is none, as in many virtual machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mbps: Option<u32>,
    #[serde(default)]
    pub is_half_duplex: bool,
    /// Offloads that its driver cannot turn on, by ethtool's names: of `tso`, `tx` and `rx`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// Received packets that it dropped because a ring or its own memory had no room; absent where its driver counts none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_drops: Option<u64>,
    /// Pause frames that stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses_received: Option<u64>,
    /// Pause frames by which it stopped the other end of its link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses_sent: Option<u64>,
}

impl Card {
    /// Whether a CPU is on another NUMA node than the card; never where that is not known.
    pub fn is_far(&self, cpu: u32) -> bool {
        let near = parse_cpu_list(&self.near_cpus).filter(|_| self.node.is_some());
        near.is_some_and(|near| !near.contains(&cpu))
    }
}

/// A number of packets, of their segments on the wire, and of their bytes with all headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Amount {
    /// Packets as they come; a super-packet is one.
    pub packets: u64,
    pub segments: u64,
    pub bytes: u64,
}

/// One direction of a link emulator, by the device that hands it packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LinkEmulator {
    /// The device, such as `s1-eth2`.
    pub device: String,
    pub arrived: Amount,
    /// The packets that were passed on.
    pub departed: Amount,
    /// The packets that were lost at random, as requested.
    pub lost: Amount,
    /// The packets that were dropped because the queue was full.
    pub overflowed: Amount,
    /// The copies that were made, as requested.
    pub duplicated: Amount,
    /// The packets that the kernel did not accept from the emulator. They were not requested.
    pub refused: Amount,
    /// Packets that arrived faster than the emulator read them. They were not requested.
    pub missed_packets: u64,
    /// CPU time of the emulator's thread, for both directions of the link, in ns.
    pub cpu_ns: u64,
    /// The rate that it is set to, in bit/s of frames with their Ethernet headers; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// Lateness of the departures after their scheduled time: rising bounds in ns, each with the
    /// number of packets that were later than the bound before and not later than this one.
    pub late: Vec<(u64, u64)>,
}

impl LinkEmulator {
    /// The kind of its queue among the queueing disciplines ([`Queue::kind`]).
    pub const KIND: &str = "link_emulator";

    /// A reading as a part of a line of the lab's file.
    pub fn part(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn line_of(parts: &[&str]) -> String {
        format!("[{}]", parts.join(","))
    }

    /// The readings of such a line; absent where it is none.
    pub fn of_line(line: &str) -> Option<Vec<LinkEmulator>> {
        serde_json::from_str(line).ok()
    }

    /// The segments that arrived, or were made as copies, and have neither left nor been dropped.
    pub fn waiting_segments(&self) -> u64 {
        let gone = [self.departed, self.lost, self.overflowed, self.refused];
        let come = self
            .arrived
            .segments
            .saturating_add(self.duplicated.segments);
        gone.iter()
            .fold(come, |left, gone| left.saturating_sub(gone.segments))
    }
}

/// Throttling by the CPU quotas of the endpoint's control groups (`cpu.stat`; kernel doc:
/// admin-guide/cgroup-v2, scheduler/sched-bwc): the sum over its own group and all groups above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Throttling {
    /// Time that all CPUs were held back, in µs.
    pub throttled_us: u64,
}

/// Soft interrupts of one kind on one CPU: all are counted (`/proc/softirqs`), and those that began
/// in short random times were timed (trace points `softirq_entry` and `softirq_exit`; kernel doc:
/// trace/tracepoints). An interrupt that hits a soft interrupt is in its time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SoftirqTime {
    pub cpu: u32,
    /// The kernel's name of the kind, such as `NET_RX`.
    pub kind: String,
    /// Soft interrupts.
    pub count: u64,
    pub timed: u64,
    pub sum_ns: u64,
    /// The sum of the squares of their times, in ns².
    pub squares_ns2: u64,
}

/// CPU time of programs that are not part of the run, by the clocks of their processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForeignLoad {
    /// The earlier reading of all processes, before the traffic.
    pub start_ns: u64,
    /// The later reading, after the window.
    pub end_ns: u64,
    /// CPU time that all of them used in between, in ns, from times in ticks.
    pub cpu_ns: u64,
    /// Those that used most, the largest first; at most five.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ForeignProgram>,
}

/// One of the programs of a [`ForeignLoad`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForeignProgram {
    /// The name of its process, as the kernel keeps it: at most 15 bytes.
    pub name: String,
    pub pid: u32,
    /// CPU time of the process and of the children that it waited for, in ns.
    pub cpu_ns: u64,
}

/// How far the CPUs of two endpoints on one machine were from each other during a run: the round trip
/// of a cache line between them, up to ten times a second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreToCore {
    /// The CPU of this endpoint and that of the other one.
    pub cpus: [u32; 2],
    /// The time of a round trip in each sample, in ns; the fastest of three stretches of 16. A sample
    /// in which the two threads did not run at the same time is not among them.
    pub round_trip_ns: Vec<u32>,
}

/// How fast one CPU was during a run, by a fixed loop ten times a second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuSpeed {
    pub cpu: u32,
    /// The time of the loop in each sample, in ns; the fastest of eight stretches.
    pub loop_ns: Vec<u32>,
}
