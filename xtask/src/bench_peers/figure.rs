//! The figures of one run of one generator.

use serde::{Deserialize, Serialize};

/// The bytes of a packet that are no user data: Ethernet, IPv4 and TCP with timestamps.
const HEADERS: f64 = 14.0 + 20.0 + 32.0;

/// The figures of one run of one generator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// Messages or transactions per second, at the sender; datagrams of a stream: those that the
    /// receiving program took.
    pub per_second: f64,
    /// Share of the datagrams sent that the receiving program did not take; absent for other traffic.
    pub lost: Option<f64>,
    /// CPU time of the whole machine per KiB of user data, or per transaction, in µs; absent if it
    /// could not be read.
    pub cpu: Option<f64>,
    /// CPU time of pacing itself, in % of a CPU.
    pub pacing_cpu_pct: Option<f64>,
    /// User data of a packet of the sender's interface, in bytes; absent if it could not be read.
    pub packet_bytes: Option<f64>,
    /// Share of the connection's busy time that the receive window limited; absent if it could not be
    /// read.
    pub window_limited: Option<f64>,
    /// Share of the CPUs' time that the hypervisor took.
    pub stolen: f64,
    /// The options that a search took, as on the command line; absent where there was none.
    pub options: Option<String>,
}

/// User data of each packet, from the bytes and packets that a sender's interface sent meanwhile.
pub fn packet_bytes(bytes: u64, packets: u64) -> Option<f64> {
    (packets > 0).then(|| (bytes as f64 / packets as f64 - HEADERS).max(0.0))
}

/// The share of what was sent that did not arrive.
pub fn lost(sent: f64, arrived: f64) -> f64 {
    (1.0 - arrived / sent.max(arrived).max(f64::MIN_POSITIVE)).max(0.0)
}
