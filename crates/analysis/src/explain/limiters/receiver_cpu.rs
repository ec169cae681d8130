//! The receiver's CPU.

use super::ends::{
    IN_THE_KERNEL, ON_THE_SAME_CPUS, SHARED_EVIDENCE, against, interface_thread, on_shared,
    receiving, sharing, tcp_ends,
};
use super::evidence::{candidate, share};
use super::loss::{at_socket, explained, lost};
use crate::explain::bounds::{BUSY, CONTENDED};
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{Candidate, Evidence, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// A receiver of datagrams that is on a CPU for this share has no time left.
const RECEIVER_BUSY: f64 = 0.8;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "receiver_cpu",
    title: "receiver's CPU",
    remedy: "make the receiver do less per byte: larger receive calls, GRO, a fast receive mode; or more flows on more CPUs",
    questions: &[
        Question {
            step: Step::Loss,
            about: "UDP",
            evidence: "the same drops; receiver waiting for a CPU 25 %, or on one 80 %",
            rule: of_datagrams,
        },
        Question {
            step: Step::Loss,
            about: "UDP, in the kernel",
            evidence: "over 2 % lost, half of them as they leave the sender's interface (the ring behind it is full); the thread that handles what the receiver's interface receives on a CPU or waiting for one 75 %",
            rule: at_the_ring,
        },
        Question {
            step: Step::Receiver,
            about: "TCP",
            evidence: "the same blocked times, and on a CPU or waiting for one 75 %; or the thread that handles what its interface receives is",
            rule: of_streams,
        },
        Question {
            step: Step::SharedCpus,
            about: "shared, TCP, both endpoints on one machine",
            evidence: SHARED_EVIDENCE,
            rule: shared,
        },
    ],
};

fn of_datagrams(signals: &Signals) -> Vec<Candidate> {
    let (Some(evidence), Some(receiver)) = (at_socket(signals), signals.receiver) else {
        return Vec::new();
    };
    let with = |more: Evidence| evidence.iter().cloned().chain([more]).collect();
    vec![
        against(
            signals.rivals[1],
            receiver.wait,
            "--receiver-cpus",
            candidate(
                ROW.limiter(),
                "its socket's buffer overflows",
                with(share(
                    "receiver waiting for a CPU",
                    receiver.wait,
                    AtLeast(CONTENDED),
                )),
            ),
        ),
        candidate(
            ROW.limiter(),
            "its socket's buffer overflows",
            with(share(
                "receiver on a CPU",
                receiver.cpu,
                AtLeast(RECEIVER_BUSY),
            )),
        ),
    ]
}

/// The thread that handles what the interface received leaves its ring full.
fn at_the_ring(signals: &Signals) -> Vec<Candidate> {
    let (Some(loss), Some(receiver)) = (signals.loss, signals.receiver) else {
        return Vec::new();
    };
    let place = "drops on departure from the sender's interface".to_owned();
    let dropped = |departure| {
        let evidence = vec![
            lost(&loss),
            explained(&loss, place, departure),
            interface_thread("receiving", receiver),
        ];
        candidate(ROW.limiter(), IN_THE_KERNEL, evidence)
    };
    loss.departure.map(dropped).into_iter().collect()
}

/// The receiver has no time left, or the thread that handles what its interface received has none.
fn of_streams(signals: &Signals) -> Vec<Candidate> {
    let Some((sender, receiver)) = tcp_ends(signals) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let is_contended = receiver.wait >= CONTENDED;
    for evidence in receiving(receiver, sender) {
        let busy = share(
            "receiver on a CPU or waiting for one",
            receiver.busy(),
            AtLeast(BUSY),
        );
        let evidence = evidence.into_iter().chain([busy]).collect();
        let busy = candidate(ROW.limiter(), "", evidence);
        found.push(match is_contended {
            true => against(signals.rivals[1], receiver.wait, "--receiver-cpus", busy),
            false => busy,
        });
    }
    let napi = vec![
        share("sender blocked in send", sender.blocked, AtLeast(0.05)),
        interface_thread("receiving", receiver),
    ];
    found.push(candidate(ROW.limiter(), IN_THE_KERNEL, napi));
    found
}

fn shared(signals: &Signals) -> Vec<Candidate> {
    let (Some((sender, receiver)), Some(full)) = (tcp_ends(signals), sharing(signals)) else {
        return Vec::new();
    };
    if sender.blocked <= receiver.blocked {
        return Vec::new();
    }
    let less = share(
        "receiver blocked in receive, against the sender's time blocked in send",
        receiver.blocked,
        AtMost(sender.blocked),
    );
    let evidence = full.into_iter().chain([less]).collect();
    let found = candidate(ROW.limiter(), ON_THE_SAME_CPUS, evidence);
    vec![on_shared(signals, found)]
}
