//! The sender's CPU.

use super::ends::{
    IN_THE_KERNEL, ON_THE_SAME_CPUS, SHARED_EVIDENCE, against, at_work, interface_thread,
    on_shared, sending, sharing, tcp_ends,
};
use super::evidence::{candidate, share};
use super::packets_per_second::packets;
use crate::explain::bounds::{CONTENDED, SHARED};
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{Candidate, Evidence, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "sender_cpu",
    title: "sender's CPU",
    remedy: "make the sender do less per byte: larger messages, offloads, a fast send mode; or more flows on more CPUs",
    questions: &[
        Question {
            step: Step::Sender,
            about: "",
            evidence: "the same times, and the cost model does not show that packets decide",
            rule: full,
        },
        Question {
            step: Step::SharedCpus,
            about: "shared, TCP, both endpoints on one machine",
            evidence: SHARED_EVIDENCE,
            rule: shared,
        },
        Question {
            step: Step::SharedCpus,
            about: "in the kernel, TCP, both endpoints on one machine",
            evidence: "75 % of all CPUs' time in use; the thread that handles the acknowledgements that the sender's interface receives on a CPU or waiting for one 75 %",
            rule: acknowledged,
        },
    ],
};

/// The sender is never held up, and has no time left.
fn full(signals: &Signals) -> Vec<Candidate> {
    let waits = signals.sender.map_or(0.0, |sender| sender.wait);
    if packets(signals).is_some() {
        return Vec::new();
    }
    let named = |mut evidence: Vec<Evidence>| {
        if waits < CONTENDED {
            return candidate(ROW.limiter(), "", evidence);
        }
        evidence.push(share("sender waiting for a CPU", waits, AtLeast(CONTENDED)));
        let found = candidate(ROW.limiter(), "", evidence);
        against(signals.rivals[0], waits, "--sender-cpus", found)
    };
    sending(signals).into_iter().map(named).collect()
}

/// The thread that takes the acknowledgements, and with them sends, has no time left.
fn acknowledged(signals: &Signals) -> Vec<Candidate> {
    let full = at_work(signals, AtLeast(SHARED));
    let (Some((sender, _)), Some(full)) = (tcp_ends(signals), full) else {
        return Vec::new();
    };
    let evidence = vec![full, interface_thread("sending", sender)];
    vec![candidate(ROW.limiter(), IN_THE_KERNEL, evidence)]
}

fn shared(signals: &Signals) -> Vec<Candidate> {
    let (Some((sender, receiver)), Some(full)) = (tcp_ends(signals), sharing(signals)) else {
        return Vec::new();
    };
    if sender.blocked > receiver.blocked {
        return Vec::new();
    }
    let less = share(
        "sender blocked in send, against the receiver's time blocked in receive",
        sender.blocked,
        AtMost(receiver.blocked),
    );
    let evidence = full.into_iter().chain([less]).collect();
    let found = candidate(ROW.limiter(), ON_THE_SAME_CPUS, evidence);
    vec![on_shared(signals, found)]
}
