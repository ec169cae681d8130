//! The figures of one run of one generator, and their regime: whether packets are full, as
//! docs/method/regimes.md defines it; of messages smaller than a segment, whether they carry more than one segment.

use bitcost_model::conditions::Workload;
use bitcost_model::record::CpuTicks;

use super::table::Case;

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
    /// What a search took; absent where there was none.
    pub options: Option<String>,
}

/// Bytes and packets that a sender's interface has sent.
pub type Sent = (u64, u64);

/// User data of each packet between two readings.
pub fn packet_bytes(first: Sent, last: Sent) -> Option<f64> {
    let [bytes, packets] = [(first.0, last.0), (first.1, last.1)]
        .map(|(first, last)| last.saturating_sub(first) as f64);
    (packets > 0.0).then(|| (bytes / packets - HEADERS).max(0.0))
}

/// The share of what was sent that did not arrive.
pub fn lost(sent: f64, arrived: f64) -> f64 {
    (1.0 - arrived / sent.max(arrived).max(f64::MIN_POSITIVE)).max(0.0)
}

/// How many CPUs were busy on average between two readings with so many seconds between them: elapsed time minus idle time;
/// absent if they could not be read.
pub fn busy_cpus(before: &[CpuTicks], after: &[CpuTicks], seconds: f64) -> Option<f64> {
    if before.is_empty() || before.len() != after.len() || seconds <= 0.0 {
        return None;
    }
    let ticks = bitcost_probe::cpu::ticks_per_second() as f64 * seconds;
    let pairs = before.iter().zip(after);
    let busy = pairs.map(|(before, after)| {
        let [before, after] = [before, after].map(|cpu| cpu.idle + cpu.iowait);
        (1.0 - after.saturating_sub(before) as f64 / ticks).clamp(0.0, 1.0)
    });
    Some(busy.sum())
}

/// CPU time for a KiB or a transaction, in µs.
pub fn cost(busy_cpus: f64, case: &Case, per_second: f64) -> f64 {
    busy_cpus * 1e6 / (per_second * case.cpu_units())
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

/// The share of its busy time from which a run also has the regime that the receive window makes.
const ALSO: f64 = 0.1;

impl Regime {
    pub const ALL: [Regime; 4] = [Regime::Any, Regime::NotFull, Regime::Both, Regime::Full];

    /// The regime of a run of a case.
    pub fn of(case: &Case, figure: &Figure) -> Regime {
        let has_regimes = case.workload == Workload::TcpStream && case.rate_bps.is_none();
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
