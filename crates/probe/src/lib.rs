//! Counters and facts that the kernel publishes, one file per source, read only.
//!
//! What a host does not report is absent: readers return `None` or an empty list, never an error
//! and never 0.

pub mod card;
pub mod constants;
pub mod core_to_core;
pub mod cores;
pub mod cpu;
pub mod emulators;
pub mod foreign;
pub mod host;
pub mod interfaces;
mod looks;
mod meter;
pub mod programs;
pub mod protocols;
pub mod queues;
mod read;
pub mod sockets;
pub mod softirq_timer;
mod softirqs;
pub mod softnet;
mod source;
pub mod speed;
pub mod threads;
pub mod throttling;

pub use looks::Looks;
pub use source::{Between, Detail, Every, Node, Socket, Source, Target, Thread};

pub struct Probe {
    pub every: Every,
    /// Whether it counts what became of packets, which is also read before and after the whole
    /// traffic.
    pub is_of_packets: bool,
    /// Opens it; absent if the host has no such counters.
    pub open: Open,
}

type Open = fn(&Target) -> Option<Source>;

impl Probe {
    const fn new(open: Open) -> Probe {
        Probe {
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
    Probe::new(cpu::open),
    Probe::new(threads::open),
    Probe::new(sockets::open).of_packets(),
    Probe::new(queues::open).of_packets(),
    Probe::new(emulators::open).of_packets(),
    Probe::new(interfaces::open).of_packets(),
    Probe::new(softnet::open).of_packets(),
    Probe::new(throttling::open),
    Probe::new(protocols::open).of_packets().at_edges(),
    Probe::new(softirqs::open).at_edges(),
    Probe::new(card::open).at_edges(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_at_edges_are_last() {
        assert!(PROBES.is_sorted_by_key(|probe| probe.every == Every::Edge));
    }
}
