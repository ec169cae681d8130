//! Evidence of lost datagrams and retransmitted segments, and of what dropped them.

use super::evidence::{number, share};
use crate::explain::bounds::{EXPLAINED, LOSS_PCT, RETRANSMITTED};
use crate::explain::limiter::Bound::AtLeast;
use crate::explain::limiter::Evidence;
use crate::explain::signals::{Loss, Signals};

pub(super) fn lost(loss: &Loss) -> Evidence {
    number("datagrams lost", loss.pct, "%", AtLeast(LOSS_PCT))
}

/// The share of the lost datagrams that a counter saw, as evidence.
pub(super) fn explained(loss: &Loss, counter: String, drops: f64) -> Evidence {
    share(
        format!("{counter} ÷ datagrams lost"),
        drops / loss.lost.max(1.0),
        AtLeast(EXPLAINED),
    )
}

/// Loss and drops of the receiving socket.
pub(super) fn at_socket(signals: &Signals) -> Option<Vec<Evidence>> {
    let loss = signals.loss?;
    Some(vec![
        lost(&loss),
        explained(&loss, "drops of the receiving socket".into(), loss.socket?),
    ])
}

/// Evidence that enough was retransmitted to matter, and that `dropped` segments at a place explain
/// it.
pub(super) fn retransmitted(signals: &Signals, place: &str, dropped: f64) -> Option<Vec<Evidence>> {
    let tcp = &signals.tcp;
    let (again, retransmits) = (tcp.retransmitted?, tcp.retransmits?);
    // A window of W segments that loses one halves, and needs about W ÷ 2 round trips with some W
    // segments each to grow back: one loss in W² segments keeps it small.
    let often = tcp.cwnd_segments.map_or(RETRANSMITTED, |window| {
        RETRANSMITTED.min(1.0 / (window * window))
    });
    Some(vec![
        share(
            "retransmitted segments, against one loss in a window's square",
            again,
            AtLeast(often),
        ),
        share(
            format!("segments dropped by {place} ÷ retransmitted segments"),
            dropped / retransmits.max(1.0),
            AtLeast(EXPLAINED),
        ),
    ])
}
