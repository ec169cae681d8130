//! The figures of one run of one generator, and their regime: whether packets are full, as
//! docs/method/regimes.md defines it; of messages smaller than a segment, whether they carry more than one segment.

use bitcost_model::conditions::Workload;

use super::cases::Case;

/// The bytes of a packet that are no user data: Ethernet, IPv4 and TCP with timestamps.
const HEADERS: f64 = 14.0 + 20.0 + 32.0;
/// Bytes of a segment that are no user data: IPv4 and TCP with timestamps.
const OF_SEGMENT: u32 = 52;

#[derive(Clone, Debug, Default)]
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

/// User data of each packet, from the bytes and packets that a sender's interface had sent at the start and at the end.
pub fn packet_bytes(first: (u64, u64), last: (u64, u64)) -> Option<f64> {
    let [bytes, packets] = [(first.0, last.0), (first.1, last.1)]
        .map(|(first, last)| last.saturating_sub(first) as f64);
    (packets > 0.0).then(|| (bytes / packets - HEADERS).max(0.0))
}

/// The share of what was sent that did not arrive.
pub fn lost(sent: f64, arrived: f64) -> f64 {
    (1.0 - arrived / sent.max(arrived).max(f64::MIN_POSITIVE)).max(0.0)
}

/// The regime of a run. Ratios are of runs of one regime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// Of traffic that has no regimes, or of packets that are not known.
    Any,
    /// Packets of about one message, or of one segment.
    NotFull,
    /// Packets that are not full on the whole, of a run that the receive window limited for a part of its time.
    Both,
    /// Full packets.
    Full,
}

pub const REGIMES: [Regime; 4] = [Regime::Any, Regime::NotFull, Regime::Both, Regime::Full];

/// The share of its busy time from which a run also has the regime that the receive window makes.
const ALSO: f64 = 0.1;

impl Regime {
    /// The regime of a run of a case.
    pub fn of(case: &Case, figure: &Figure) -> Regime {
        let has_regimes = case.traffic == Workload::TcpStream && case.rate_bps.is_none();
        let segment = case.mtu_bytes.saturating_sub(OF_SEGMENT);
        let full_from = (1.5 * f64::from(case.size.max(segment))).min(32_768.0);
        match figure.packet_bytes.filter(|_| has_regimes) {
            None => Regime::Any,
            Some(bytes) if bytes >= full_from => Regime::Full,
            Some(_) if figure.window_limited.is_some_and(|share| share > ALSO) => Regime::Both,
            Some(_) => Regime::NotFull,
        }
    }

    /// The words after a name; empty for traffic without regimes.
    pub fn label(self) -> &'static str {
        match self {
            Regime::Any => "",
            Regime::NotFull => ", packets not full",
            Regime::Both => ", both regimes",
            Regime::Full => ", full packets",
        }
    }
}
