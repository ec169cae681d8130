//! The receiving program, which is busy otherwise between its calls.

use super::ends::{receiving, tcp_ends};
use super::evidence::{candidate, share};
use super::loss::at_socket;
use crate::explain::limiter::Bound::AtLeast;
use crate::explain::limiter::{Candidate, Evidence, LimiterRow, Question, Step};
use crate::explain::signals::{EndTimes, Signals};

/// A receiver that sleeps by its own choice for this share reads too slowly.
const SLOW_READER: f64 = 0.3;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "slow_reader",
    title: "reader too slow",
    remedy: "make the receiving program read sooner; larger buffers only delay the loss",
    questions: &[
        Question {
            step: Step::Loss,
            about: "UDP",
            evidence: "over 2 % of datagrams lost, half of them dropped by the receiving socket; voluntary sleep of the receiver 30 % or more",
            rule: of_datagrams,
        },
        Question {
            step: Step::Receiver,
            about: "TCP",
            evidence: "sender blocked in send 5 % or more; receiver blocked in receive at most 10 %, or at most half as long as the sender in send; its voluntary sleep 30 %",
            rule: of_streams,
        },
    ],
};

fn slept(receiver: EndTimes) -> Evidence {
    share(
        "receiver sleeping between calls",
        receiver.slept,
        AtLeast(SLOW_READER),
    )
}

fn of_datagrams(signals: &Signals) -> Vec<Candidate> {
    let (Some(mut evidence), Some(receiver)) = (at_socket(signals), signals.receiver) else {
        return Vec::new();
    };
    evidence.push(slept(receiver));
    vec![candidate(
        ROW.limiter(),
        "its socket's buffer overflows",
        evidence,
    )]
}

fn of_streams(signals: &Signals) -> Vec<Candidate> {
    let Some((sender, receiver)) = tcp_ends(signals) else {
        return Vec::new();
    };
    let with = |evidence: Vec<Evidence>| evidence.into_iter().chain([slept(receiver)]).collect();
    receiving(receiver, sender)
        .map(|evidence| candidate(ROW.limiter(), "", with(evidence)))
        .to_vec()
}
