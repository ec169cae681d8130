//! Evidence of lost datagrams, and of what dropped them.

use super::evidence::{number, share};
use crate::explain::bounds::{EXPLAINED, LOSS_PCT};
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
