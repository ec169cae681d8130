//! The endpoints: their CPUs, their quotas, and what they do by their own choice.

use bitcost_model::record::Role;

use super::evidence::{candidate, number, share};
use crate::explain::bounds::{
    ALONE, BLOCKED, BUSY, CONTENDED, PACED, PER_BYTE, RATE_KEPT, SHARED, SLOW_READER, STARVED,
    THROTTLED,
};
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{Candidate, Evidence, Limiter};
use crate::explain::signals::{EndTimes, Signals};

/// A control group's quota held an endpoint back.
pub fn quota(signals: &Signals) -> Vec<Candidate> {
    let ends = [Role::Sender, Role::Receiver]
        .into_iter()
        .zip(signals.throttled);
    let held = ends
        .filter_map(|(end, throttled)| Some((end, throttled?)))
        .filter(|(_, share)| *share > 0.0);
    let mut found: Vec<Candidate> = held
        .map(|(end, throttled)| {
            let evidence = share(
                format!("{} held back by its quota", end.name()),
                throttled,
                AtLeast(THROTTLED),
            );
            candidate(Limiter::CpuQuota(end), "", vec![evidence])
        })
        .collect();
    found.sort_by(|a, b| b.strength().total_cmp(&a.strength()));
    found
}

/// The program keeps a rate.
pub fn pacing(signals: &Signals) -> Vec<Candidate> {
    let mut found = Vec::new();
    if let Some(kept) = signals.rate_kept {
        let evidence = share(
            "rate handed over, under the rate asked for by",
            (1.0 - kept).max(0.0),
            AtMost(RATE_KEPT),
        );
        found.push(candidate(
            Limiter::Pacing,
            "the rate that was asked for is kept",
            vec![evidence],
        ));
    }
    if let Some(sender) = signals.sender {
        let evidence = vec![
            share(
                "sender sleeping between calls",
                sender.slept,
                AtLeast(PACED),
            ),
            share("sender blocked in send", sender.blocked, AtMost(BLOCKED)),
        ];
        found.push(candidate(Limiter::Pacing, "", evidence));
    }
    found
}

/// The sender is never held up, and has no time left.
pub fn sender(signals: &Signals) -> Vec<Candidate> {
    let Some(sender) = signals.sender else {
        return Vec::new();
    };
    let busy = share(
        "sender on a CPU or waiting for one",
        sender.busy(),
        AtLeast(BUSY),
    );
    let mut evidence = vec![vec![
        share("sender blocked in send", sender.blocked, AtMost(BLOCKED)),
        busy.clone(),
    ]];
    if let Some(receiver) = signals.receiver {
        let less = share(
            "sender blocked in send, against half of the receiver's time blocked in receive",
            sender.blocked,
            AtMost(receiver.blocked / 2.0),
        );
        evidence.push(vec![less, busy]);
    }
    let named = |evidence| sender_as(signals, sender, evidence);
    evidence.into_iter().map(named).collect()
}

fn sender_as(signals: &Signals, sender: EndTimes, mut evidence: Vec<Evidence>) -> Candidate {
    if sender.wait >= CONTENDED {
        evidence.push(share(
            "sender waiting for a CPU",
            sender.wait,
            AtLeast(CONTENDED),
        ));
        return candidate(Limiter::SenderCpu, "other threads take its CPU", evidence);
    }
    match packets(signals) {
        Some(more) => {
            evidence.extend(more);
            candidate(
                Limiter::PathPackets,
                "the sender's CPU, of which each packet takes the same",
                evidence,
            )
        }
        None => candidate(Limiter::SenderCpu, "", evidence),
    }
}

/// Evidence that the sender's CPU is spent on packets and not on bytes; absent where it is not, or
/// where that cannot be determined.
fn packets(signals: &Signals) -> Option<Vec<Evidence>> {
    let per_byte = signals.per_byte.filter(|share| *share < PER_BYTE)?;
    let mut evidence = vec![share(
        "cost that grows with bytes, at this size",
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

/// Evidence that the receiver always has work, or that it makes the sender wait.
fn receiving(signals: &Signals, receiver: EndTimes, sender: EndTimes) -> [Vec<Evidence>; 2] {
    let held_up = share("sender blocked in send", sender.blocked, AtLeast(0.05));
    let always = share(
        "receiver blocked in receive",
        receiver.blocked,
        AtMost(STARVED),
    );
    let less = share(
        "receiver blocked in receive, against half of the sender's time blocked in send",
        receiver.blocked,
        AtMost(sender.blocked / 2.0),
    );
    debug_assert!(signals.is_tcp);
    [vec![held_up.clone(), always], vec![held_up, less]]
}

/// The receiving program sleeps between its calls, and the sender waits for it.
pub fn slow_reader(signals: &Signals) -> Vec<Candidate> {
    let Some((sender, receiver)) = tcp_ends(signals) else {
        return Vec::new();
    };
    let slept = share(
        "receiver sleeping between calls",
        receiver.slept,
        AtLeast(SLOW_READER),
    );
    let with = |evidence: Vec<Evidence>| evidence.into_iter().chain([slept.clone()]).collect();
    receiving(signals, receiver, sender)
        .map(|evidence| candidate(Limiter::SlowReader, "", with(evidence)))
        .to_vec()
}

/// The receiver has no time left, or the thread that handles what its interface received has none.
pub fn receiver(signals: &Signals) -> Vec<Candidate> {
    let Some((sender, receiver)) = tcp_ends(signals) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let detail = if receiver.wait >= CONTENDED {
        "other threads take its CPU"
    } else {
        ""
    };
    for evidence in receiving(signals, receiver, sender) {
        let busy = share(
            "receiver on a CPU or waiting for one",
            receiver.busy(),
            AtLeast(BUSY),
        );
        found.push(candidate(
            Limiter::ReceiverCpu,
            detail,
            evidence.into_iter().chain([busy]).collect(),
        ));
    }
    let napi = vec![
        share("sender blocked in send", sender.blocked, AtLeast(0.05)),
        share(
            "receiving interface's thread on a CPU or waiting for one",
            receiver.napi,
            AtLeast(BUSY),
        ),
    ];
    found.push(candidate(
        Limiter::ReceiverCpu,
        "in the kernel, where its interface receives",
        napi,
    ));
    found
}

/// Neither endpoint is idle for long, and the CPUs that both share are full: the endpoint that
/// sleeps less is named.
pub fn shared(signals: &Signals) -> Vec<Candidate> {
    let (Some((sender, receiver)), Some(busy)) = (tcp_ends(signals), signals.shared_cpus) else {
        return Vec::new();
    };
    let (limiter, less, more) = if sender.blocked <= receiver.blocked {
        (
            Limiter::SenderCpu,
            (
                "sender blocked in send, against the receiver's time blocked in receive",
                sender.blocked,
            ),
            receiver.blocked,
        )
    } else {
        (
            Limiter::ReceiverCpu,
            (
                "receiver blocked in receive, against the sender's time blocked in send",
                receiver.blocked,
            ),
            sender.blocked,
        )
    };
    let evidence = vec![
        share("CPUs at work, which both ends share", busy, AtLeast(SHARED)),
        share(
            "both ends' programs waiting for a CPU, together",
            sender.wait + receiver.wait,
            AtLeast(CONTENDED),
        ),
        share(less.0, less.1, AtMost(more)),
    ];
    vec![candidate(
        limiter,
        "both ends run on the same CPUs, and wait for each other there",
        evidence,
    )]
}

fn tcp_ends(signals: &Signals) -> Option<(EndTimes, EndTimes)> {
    signals.is_tcp.then_some(())?;
    Some((signals.sender?, signals.receiver?))
}
