//! Counters and facts that the kernel publishes, one file per source, read only.
//!
//! What a host does not report is absent: readers return `None` or an empty list, never an error
//! and never 0.

pub mod constants;
pub mod core_to_core;
pub mod cores;
pub mod cpu;
pub mod driver;
pub mod emulators;
pub mod foreign;
pub mod frequency;
pub mod host;
pub mod interfaces;
pub mod protocols;
pub mod queues;
mod read;
pub mod schedstat;
pub mod sockets;
mod soft_counts;
pub mod softirq_timer;
mod softirqs;
pub mod softnet;
mod source;
pub mod switches;
pub mod threads;
pub mod throttling;

pub use source::{Between, Detail, Every, Node, Socket, Source, Target, Thread};

/// A probe that a run reads.
pub struct Probe {
    /// Its name.
    pub name: &'static str,
    /// A description of what it reads.
    pub reads: &'static str,
    /// When it is read.
    pub every: Every,
    /// Whether it reads CPU time, which a run without cost leaves out.
    pub is_cost: bool,
    /// Whether it counts what became of packets, which is also read before and after the whole
    /// traffic.
    pub is_of_packets: bool,
    /// Opens it; absent if the host has no such counters.
    pub open: fn(&Target) -> Option<Box<dyn Source>>,
}

/// Every probe that a run reads, in the order in which they are read.
pub const PROBES: &[Probe] = &[
    Probe {
        name: "cpu",
        reads: "/proc/stat",
        every: Every::Reading,
        is_cost: true,
        is_of_packets: false,
        open: cpu::open,
    },
    Probe {
        name: "threads",
        reads: "/proc/PID/task/TID/schedstat and status, CPU clocks",
        every: Every::Reading,
        is_cost: true,
        is_of_packets: false,
        open: threads::open,
    },
    Probe {
        name: "sockets",
        reads: "TCP_INFO, SO_MEMINFO",
        every: Every::Reading,
        is_cost: false,
        is_of_packets: true,
        open: sockets::open,
    },
    Probe {
        name: "queues",
        reads: "RTM_GETQDISC",
        every: Every::Reading,
        is_cost: false,
        is_of_packets: true,
        open: queues::open,
    },
    Probe {
        name: "emulators",
        reads: "the lab's file with the counters of its link emulators",
        every: Every::Reading,
        is_cost: false,
        is_of_packets: true,
        open: emulators::open,
    },
    Probe {
        name: "interfaces",
        reads: "/proc/net/dev",
        every: Every::Reading,
        is_cost: false,
        is_of_packets: true,
        open: interfaces::open,
    },
    Probe {
        name: "softnet",
        reads: "/proc/net/softnet_stat",
        every: Every::Reading,
        is_cost: false,
        is_of_packets: true,
        open: softnet::open,
    },
    Probe {
        name: "throttling",
        reads: "cpu.stat of the control groups",
        every: Every::Reading,
        is_cost: false,
        is_of_packets: false,
        open: throttling::open,
    },
    Probe {
        name: "protocols",
        reads: "/proc/net/snmp, netstat, snmp6",
        every: Every::Edge,
        is_cost: false,
        is_of_packets: true,
        open: protocols::open,
    },
    Probe {
        name: "softirqs",
        reads: "softirq_entry and softirq_exit, /proc/softirqs",
        every: Every::Edge,
        is_cost: true,
        is_of_packets: false,
        open: softirqs::open,
    },
    Probe {
        name: "driver",
        reads: "ETHTOOL_GSTATS",
        every: Every::Edge,
        is_cost: false,
        is_of_packets: true,
        open: driver::open,
    },
    Probe {
        name: "frequency",
        reads: "cpufreq/scaling_cur_freq",
        every: Every::Edge,
        is_cost: false,
        is_of_packets: false,
        open: frequency::open,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_at_edges_are_last() {
        assert!(PROBES.is_sorted_by_key(|probe| probe.every == Every::Edge));
    }
}
