//! The ring from which a link emulator reads its packets: it was full before the emulator came to
//! read.

use super::evidence::candidate;
use super::loss::{explained, lost, retransmitted};
use crate::explain::hops::Hop;
use crate::explain::limiter::{Candidate, Evidence, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "emulator_ring",
    title: "link emulator's ring",
    remedy: "send in smaller bursts, request a lower rate, or leave the machine idle: this is the emulation and not the path",
    questions: &[
        Question {
            step: Step::Loss,
            about: "UDP",
            evidence: "over 2 % lost, half of them dropped by a link emulator's ring",
            rule: |signals| named(signals, of_datagrams),
        },
        Question {
            step: Step::Congestion,
            about: "TCP",
            evidence: "over 0.1 % of segments retransmitted, or one in W² at a congestion window of W segments; and half as many dropped by a link emulator's ring",
            rule: |signals| named(signals, retransmitted),
        },
    ],
};

/// The emulators whose rings dropped packets, with this evidence.
fn named(
    signals: &Signals,
    evidence: fn(&Signals, &str, f64) -> Option<Vec<Evidence>>,
) -> Vec<Candidate> {
    let candidate = |hop: &Hop| {
        let ring = format!("the link emulator's ring at {}", hop.name);
        let evidence = evidence(signals, &ring, hop.missed)?;
        Some(candidate(ROW.at_hop(&hop.name), "", evidence))
    };
    let missing = signals.hops.iter().filter(|hop| hop.missed > 0.0);
    missing.filter_map(candidate).collect()
}

fn of_datagrams(signals: &Signals, place: &str, dropped: f64) -> Option<Vec<Evidence>> {
    let loss = signals.loss?;
    let explained = explained(&loss, format!("drops of {place}"), dropped);
    Some(vec![lost(&loss), explained])
}
