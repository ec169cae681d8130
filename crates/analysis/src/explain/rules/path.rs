//! Links and shapers: those that report counters, and those that show only in the round-trip time.

use super::evidence::{candidate, number, share};
use crate::explain::bounds::{HELD_UP, OVERLIMITS, QUEUEING, RETRANSMITTED, STANDING, VARIATION};
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{Candidate, Limiter};
use crate::explain::signals::Signals;

/// Queues on the path that hold packets back to a rate.
pub fn shapers(signals: &Signals) -> Vec<Candidate> {
    let Some(sender) = signals.sender else {
        return Vec::new();
    };
    let shaper = |hop: &crate::explain::hops::Hop| {
        let evidence = vec![
            number(
                format!("{} at {} held packets back", hop.kind, hop.name),
                hop.overlimits,
                "times/s",
                AtLeast(OVERLIMITS),
            ),
            share(
                "samples with packets waiting there",
                hop.standing,
                AtLeast(STANDING),
            ),
            share("sender blocked in send", sender.blocked, AtLeast(HELD_UP)),
        ];
        candidate(Limiter::Rate(Some(hop.name.clone())), "", evidence)
    };
    let mut found: Vec<Candidate> = signals
        .hops
        .iter()
        .filter(|hop| hop.overlimits > 0.0)
        .map(shaper)
        .collect();
    found.sort_by(|a, b| b.strength().total_cmp(&a.strength()));
    found
}

/// A queue whose counters are not known: the round-trip time grew and the rate is steady, or the
/// connection found the path's rate.
pub fn unseen(signals: &Signals) -> Vec<Candidate> {
    let (tcp, mut found) = (&signals.tcp, Vec::new());
    let (Some(variation), Some(sender)) = (signals.variation, signals.sender) else {
        return found;
    };
    let held_up = share("sender blocked in send", sender.blocked, AtLeast(HELD_UP));
    let steady = share("variation of the rate", variation, AtMost(VARIATION));
    if let Some(queueing) = tcp.queueing {
        let evidence = vec![
            number(
                "round-trip time ÷ its least",
                queueing,
                "",
                AtLeast(QUEUEING),
            ),
            steady.clone(),
            held_up.clone(),
        ];
        found.push(candidate(
            Limiter::Rate(None),
            "a queue stands there",
            evidence,
        ));
    }
    if let (Some(pacing), Some(again), Some(unsent)) =
        (tcp.pacing_use, tcp.retransmitted, tcp.unsent)
    {
        let evidence = vec![
            number(
                "rate at which the connection paces itself ÷ goodput",
                pacing,
                "",
                AtLeast(0.9),
            ),
            number(
                "rate at which the connection paces itself ÷ goodput",
                pacing,
                "",
                AtMost(1.15),
            ),
            share("unsent of what waits in the socket", unsent, AtLeast(0.15)),
            share("retransmitted segments", again, AtMost(RETRANSMITTED)),
            steady,
            held_up,
        ];
        found.push(candidate(
            Limiter::Rate(None),
            "the connection paces itself at the rate that it finds",
            evidence,
        ));
    }
    found
}
