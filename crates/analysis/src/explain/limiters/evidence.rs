//! Helpers that make evidence, and bounds that several limiters share.

use crate::explain::hops::Hop;
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::Evidence;
use crate::explain::signals::Signals;
use crate::explain::tcp::Tcp;

/// CPUs that both ends share are full when they are at work for this share of the time, as a mean over all of them:
/// threads that wake each other leave gaps.
pub(super) const SHARED: f64 = 0.75;

pub(super) const AT_WORK: &str = "CPUs at work, which both ends share";

/// The rate of the last third ÷ that of the first, or its inverse, up to which a rate is steady.
pub(crate) const STEADY: f64 = 1.6;

/// From this share of lost datagrams, in per cent, the loss is what is explained.
pub(crate) const LOSS_PCT: f64 = 2.0;

/// A counter of drops explains a loss when it counts this share of what was lost.
pub(super) const EXPLAINED: f64 = 0.5;

/// Round-trip time ÷ its minimum from which there is a queue somewhere.
pub(super) const QUEUEING: f64 = 1.5;

/// A requested rate is kept if it is missed by at most this share.
pub(super) const RATE_KEPT: f64 = 0.02;

/// Whether a rate was requested, and is kept.
pub(super) fn keeps_rate(signals: &Signals) -> bool {
    signals.rate_kept >= Some(1.0 - RATE_KEPT)
}

/// Segments that a queue dropped ÷ retransmitted segments.
pub(super) fn dropped(hop: &Hop, tcp: &Tcp) -> Option<f64> {
    // One packet may be several segments, as long as nothing splits it.
    let all = tcp.segments;
    let each = all.map_or(1.0, |all| (all / hop.packets.max(1.0)).max(1.0));
    Some(hop.drops * each / tcp.retransmits?.max(1.0))
}

/// A share that must be at least this, in per cent.
pub(super) fn least(counter: impl Into<String>, share: f64, bound: f64) -> Evidence {
    least_of(counter, 100.0 * share, "%", 100.0 * bound)
}

/// A share that must be at most this, in per cent.
pub(super) fn most(counter: impl Into<String>, share: f64, bound: f64) -> Evidence {
    most_of(counter, 100.0 * share, "%", 100.0 * bound)
}

pub(super) fn least_of(
    counter: impl Into<String>,
    value: f64,
    unit: &'static str,
    bound: f64,
) -> Evidence {
    Evidence {
        counter: counter.into(),
        value,
        unit,
        bound: AtLeast(bound),
    }
}

pub(super) fn most_of(
    counter: impl Into<String>,
    value: f64,
    unit: &'static str,
    bound: f64,
) -> Evidence {
    Evidence {
        bound: AtMost(bound),
        ..least_of(counter, value, unit, bound)
    }
}
