//! Packets per second: the cost of each packet, whatever its size.

use super::ends::sending;
use super::evidence::{candidate, number, share};
use crate::explain::bounds::CONTENDED;
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{Candidate, Evidence, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// Share of per-byte cost below which a size is bound by its packets.
const PER_BYTE: f64 = 0.25;

/// Packets of an interface ÷ segments from which each segment leaves as a separate packet, not
/// within a super-packet.
const ALONE: f64 = 0.9;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "packets_per_second",
    title: "packets per second",
    remedy: "send fewer, larger packets: larger messages, a larger MTU, or, where it is off and data waits to be sent, segmentation offload",
    questions: &[Question {
        step: Step::Sender,
        about: "",
        evidence: "sender blocked in send at most 15 %, or at most half as long as the receiver is blocked in receive; on a CPU or waiting for one 75 %; of their cost at this size at most 25 % grows with bytes, by the cost model of the execution (upper bound): of datagrams by messages; of TCP by segments, where 0.9 packets or more left the interface for each",
        rule: by_packets,
    }],
};

fn by_packets(signals: &Signals) -> Vec<Candidate> {
    let Some(more) = packets(signals) else {
        return Vec::new();
    };
    let Some(cost) = signals.cost else {
        return Vec::new();
    };
    let detail = format!(
        "the sender's CPU: {} ns a packet, whatever its size",
        cost.fixed_ns.with_places(0)
    );
    let named = |evidence: Vec<Evidence>| {
        candidate(
            ROW.limiter(),
            detail.clone(),
            evidence.into_iter().chain(more.clone()).collect(),
        )
    };
    sending(signals).into_iter().map(named).collect()
}

/// Evidence that the sender's CPU is spent on packets and not on bytes; absent where it is not,
/// where that cannot be determined, and where other threads take the CPU.
pub(super) fn packets(signals: &Signals) -> Option<Vec<Evidence>> {
    signals.sender.filter(|sender| sender.wait < CONTENDED)?;
    let per_byte = signals.cost?.per_byte;
    if per_byte >= PER_BYTE {
        return None;
    }
    let mut evidence = vec![share(
        "cost that grows with bytes at this size, at most",
        per_byte,
        AtMost(PER_BYTE),
    )];
    if signals.is_tcp {
        // A segment that leaves within a super-packet is not counted as a packet.
        let packets = signals
            .tcp
            .packets_per_segment
            .filter(|packets| *packets >= ALONE)?;
        evidence.push(number(
            "packets that left the sender's interface ÷ segments",
            packets,
            "",
            AtLeast(ALONE),
        ));
    }
    Some(evidence)
}
