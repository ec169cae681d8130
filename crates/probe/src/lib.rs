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
mod looks;
pub mod protocols;
pub mod queues;
mod read;
pub mod sockets;
pub mod softirq_timer;
mod softirqs;
pub mod softnet;
mod source;
pub mod threads;
pub mod throttling;

pub use looks::Looks;
pub use source::{Between, Detail, Every, Node, Socket, Source, Target, Thread};

pub struct Probe {
    pub name: &'static str,
    pub reads: &'static str,
    pub every: Every,
    /// Whether it counts what became of packets, which is also read before and after the whole
    /// traffic.
    pub is_of_packets: bool,
    /// Opens it; absent if the host has no such counters.
    pub open: Open,
}

type Open = fn(&Target) -> Option<Source>;

impl Probe {
    const fn new(name: &'static str, reads: &'static str, open: Open) -> Probe {
        Probe {
            name,
            reads,
            every: Every::Reading,
            is_of_packets: false,
            open,
        }
    }

    const fn of_packets(mut self) -> Probe {
        self.is_of_packets = true;
        self
    }

    const fn at_edges(mut self) -> Probe {
        self.every = Every::Edge;
        self
    }
}

/// Every probe that a run reads, in the order in which they are read.
pub const PROBES: &[Probe] = &[
    Probe::new("cpu", "/proc/stat", cpu::open),
    Probe::new(
        "threads",
        "/proc/PID/task/TID/schedstat and status, CPU clocks",
        threads::open,
    ),
    Probe::new("sockets", "TCP_INFO, SO_MEMINFO", sockets::open).of_packets(),
    Probe::new("queues", "RTM_GETQDISC", queues::open).of_packets(),
    Probe::new(
        "emulators",
        "the lab's file with the counters of its link emulators",
        emulators::open,
    )
    .of_packets(),
    Probe::new("interfaces", "/proc/net/dev", interfaces::open).of_packets(),
    Probe::new("softnet", "/proc/net/softnet_stat", softnet::open).of_packets(),
    Probe::new(
        "throttling",
        "cpu.stat of the control groups",
        throttling::open,
    ),
    Probe::new(
        "protocols",
        "/proc/net/snmp, netstat, snmp6",
        protocols::open,
    )
    .of_packets()
    .at_edges(),
    Probe::new(
        "softirqs",
        "softirq_entry and softirq_exit, /proc/softirqs",
        softirqs::open,
    )
    .at_edges(),
    Probe::new("driver", "ETHTOOL_GSTATS", driver::open)
        .of_packets()
        .at_edges(),
    Probe::new("frequency", "cpufreq/scaling_cur_freq", frequency::open).at_edges(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_at_edges_are_last() {
        assert!(PROBES.is_sorted_by_key(|probe| probe.every == Every::Edge));
    }
}
