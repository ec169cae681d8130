//! How full the packets of a TCP stream were, and whether more window may have them leave less full.
//!
//! Messages gather behind a full window and leave as full packets. More window may have each of them
//! pass both stacks as a separate packet, which costs a multiple of the CPU time.

use bitcost_model::conditions::Workload;

use crate::metrics::{RunView, cpu, full_from, metric};

/// The share of a CPU that the busier endpoint may need for packets of one message each.
const TIME_LEFT: f64 = 0.9;

/// The packets of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packing {
    /// User data per packet of the sender, in bytes.
    bytes_per_packet: f64,
    /// From how many bytes a packet counts as full.
    full_from: f64,
    /// Size of a message, in bytes.
    message_bytes: f64,
    /// CPU time of the busier endpoint, in seconds per second, or a bound above it; absent where it is not
    /// known.
    busy: Option<f64>,
}

impl Packing {
    /// That of a run; absent where it is not a stream of TCP alone, or its packets are not known.
    pub fn of(run: &RunView) -> Option<Packing> {
        if run.conditions.workload != Workload::TcpStream || !run.is_alone() {
            return None;
        }
        let figure = |name: &str| (metric(name)?.compute)(run);
        let kib_per_second = figure("throughput_mbps").map(|mbps| mbps * 1e6 / 8.0 / 1024.0);
        let costs =
            ["send", "receive"].map(|end| figure(&format!("{end}_service_demand_us_per_kib")));
        let busiest = costs[0]
            .zip(costs[1])
            .map(|(send, receive)| send.max(receive));
        // All that a host's CPUs did is the most that its endpoint can have used.
        let hosts = || {
            let [one, other] = [run.sender, run.receiver].map(cpu::busy_cpus);
            Some(one?.max(other?))
        };
        let attributed = busiest.zip(kib_per_second).map(|(us, kib)| us * kib / 1e6);
        Some(Packing {
            bytes_per_packet: figure("sender_bytes_per_packet")?,
            full_from: full_from(run.conditions),
            message_bytes: f64::from(run.conditions.message_size_bytes),
            busy: attributed.or_else(hosts),
        })
    }

    /// Whether packets were full.
    pub fn is_full(&self) -> bool {
        self.bytes_per_packet >= self.full_from
    }

    /// Whether more window can only help: both endpoints would have CPU time left even if each message
    /// were a separate packet.
    pub fn allows_more_window(&self) -> bool {
        let messages = (self.bytes_per_packet / self.message_bytes).max(1.0);
        self.busy.is_some_and(|busy| busy * messages < TIME_LEFT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_window_is_harmless_where_small_packets_would_leave_time() {
        let packing = |bytes_per_packet: f64, message_bytes: f64, busy: f64| Packing {
            bytes_per_packet,
            full_from: (1.5 * message_bytes).min(32_768.0),
            message_bytes,
            busy: Some(busy),
        };
        // A bare veth pair whose window gathers messages of 8 KiB.
        let gathered = packing(40_000.0, 8192.0, 0.6);
        assert!(gathered.is_full() && !gathered.allows_more_window());
        // The same window on a path of 10 ms.
        assert!(packing(40_000.0, 8192.0, 0.02).allows_more_window());
        // Messages that fill packets alone.
        assert!(packing(60_000.0, 131_072.0, 0.7).allows_more_window());
        let unknown = Packing {
            busy: None,
            ..gathered
        };
        assert!(!unknown.allows_more_window());
        assert!(!packing(4800.0, 8192.0, 1.0).is_full());
    }
}
