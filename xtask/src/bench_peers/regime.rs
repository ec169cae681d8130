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
    /// Full packets.
    Full,
}

/// Every regime.
pub const REGIMES: [Regime; 3] = [Regime::Any, Regime::NotFull, Regime::Full];

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
            Some(_) => Regime::NotFull,
        }
    }

    /// The words after a name; empty for traffic without regimes.
    pub fn says(self) -> &'static str {
        match self {
            Regime::Any => "",
            Regime::NotFull => ", packets not full",
            Regime::Full => ", full packets",
        }
    }
}
