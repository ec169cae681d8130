//! The regime of a run: whether its packets are full, as docs/method/regimes.md defines it; of messages
//! smaller than a segment, whether they carry more than one segment.

use super::cases::{Case, Traffic};
use super::figure::Figure;

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

/// Every regime.
pub const REGIMES: [Regime; 4] = [Regime::Any, Regime::NotFull, Regime::Both, Regime::Full];

/// The share of its busy time from which a run also has the regime that the receive window makes.
const ALSO: f64 = 0.1;

/// Bytes of a segment that are no user data: IPv4 and TCP with timestamps.
const HEADERS: u32 = 52;

impl Regime {
    /// The regime of a run of a case.
    pub fn of(case: &Case, figure: &Figure) -> Regime {
        let has_regimes = case.traffic == Traffic::Tcp && case.rate_bps.is_none();
        let segment = case.mtu_bytes.saturating_sub(HEADERS);
        let full_from = (1.5 * f64::from(case.size.max(segment))).min(32_768.0);
        match figure.packet_bytes.filter(|_| has_regimes) {
            None => Regime::Any,
            Some(bytes) if bytes >= full_from => Regime::Full,
            Some(_) if figure.window_limited.is_some_and(|share| share > ALSO) => Regime::Both,
            Some(_) => Regime::NotFull,
        }
    }

    /// The words after a name; empty for traffic without regimes.
    pub fn says(self) -> &'static str {
        match self {
            Regime::Any => "",
            Regime::NotFull => ", packets not full",
            Regime::Both => ", both regimes",
            Regime::Full => ", full packets",
        }
    }
}
