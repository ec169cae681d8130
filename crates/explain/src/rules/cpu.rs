//! The ends: their CPUs, their quotas, and what they do by their own choice.

use model::record::Role;

use super::{candidate, share};
use crate::bounds::{BLOCKED, BUSY, CONTENDED, PACED, PER_BYTE, RATE_KEPT, SLOW_READER, STARVED, THROTTLED};
use crate::limiter::Bound::{AtLeast, AtMost};
use crate::limiter::{Candidate, Evidence, Limiter};
use crate::signals::{EndTimes, Signals};

/// A control group's quota held an end back.
pub fn quota(signals: &Signals) -> Vec<Candidate> {
    let ends = [Role::Sender, Role::Receiver].into_iter().zip(signals.throttled);
    let held = ends.filter_map(|(end, throttled)| Some((end, throttled?))).filter(|(_, share)| *share > 0.0);
    let mut found: Vec<Candidate> = held
        .map(|(end, throttled)| {
            let evidence = share(format!("{} held back by its quota", end.name()), throttled, AtLeast(THROTTLED));
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
        let evidence = share("rate handed over ÷ rate asked for", kept, AtLeast(1.0 - RATE_KEPT));
        found.push(candidate(Limiter::Pacing, "the rate that was asked for is kept", vec![evidence]));
    }
    if let Some(sender) = signals.sender {
        let evidence = vec![
            share("sender asleep by its own choice", sender.slept, AtLeast(PACED)),
            share("sender asleep for room in its socket", sender.asleep, AtMost(BLOCKED)),
        ];
        found.push(candidate(Limiter::Pacing, "", evidence));
    }
    found
}

/// The sender is never held up, and has no time left.
pub fn sender(signals: &Signals) -> Vec<Candidate> {
    let Some(sender) = signals.sender else { return Vec::new() };
    let busy = share("sender on a CPU or waiting for one", sender.busy(), AtLeast(BUSY));
    let mut evidence =
        vec![vec![share("sender asleep for room in its socket", sender.asleep, AtMost(BLOCKED)), busy.clone()]];
    if let Some(receiver) = signals.receiver {
        let less = share(
            "sender asleep for room, of half the receiver's sleep for data",
            sender.asleep,
            AtMost(receiver.asleep / 2.0),
        );
        evidence.push(vec![less, busy]);
    }
    let named = |evidence| sender_as(signals, sender, evidence);
    evidence.into_iter().map(named).collect()
}

fn sender_as(signals: &Signals, sender: EndTimes, mut evidence: Vec<Evidence>) -> Candidate {
    if sender.wait >= CONTENDED {
        evidence.push(share("sender waiting for a CPU", sender.wait, AtLeast(CONTENDED)));
        return candidate(Limiter::SenderCpu, "other threads take its CPU", evidence);
    }
    match signals.per_byte.filter(|share| *share < PER_BYTE) {
        Some(per_byte) => {
            evidence.push(share("cost that grows with bytes, at this size", per_byte, AtMost(PER_BYTE)));
            candidate(Limiter::PathPackets, "the sender's CPU, of which each packet takes the same", evidence)
        }
        None => candidate(Limiter::SenderCpu, "", evidence),
    }
}

/// The receiver always has work, or makes the sender wait.
fn receiving(signals: &Signals, receiver: EndTimes, sender: EndTimes) -> [Vec<Evidence>; 2] {
    let held_up = share("sender asleep for room in its socket", sender.asleep, AtLeast(0.05));
    let always = share("receiver asleep for data", receiver.asleep, AtMost(STARVED));
    let less = share(
        "receiver asleep for data, of half the sender's sleep for room",
        receiver.asleep,
        AtMost(sender.asleep / 2.0),
    );
    debug_assert!(signals.is_tcp);
    [vec![held_up.clone(), always], vec![held_up, less]]
}

/// The receiving program sleeps between its calls, and the sender waits for it.
pub fn slow_reader(signals: &Signals) -> Vec<Candidate> {
    let Some((sender, receiver)) = tcp_ends(signals) else { return Vec::new() };
    let slept = share("receiver asleep by its own choice", receiver.slept, AtLeast(SLOW_READER));
    let with = |evidence: Vec<Evidence>| evidence.into_iter().chain([slept.clone()]).collect();
    receiving(signals, receiver, sender).map(|evidence| candidate(Limiter::SlowReader, "", with(evidence))).to_vec()
}

/// The receiver has no time left, or the thread that handles what its interface received.
pub fn receiver(signals: &Signals) -> Vec<Candidate> {
    let Some((sender, receiver)) = tcp_ends(signals) else { return Vec::new() };
    let mut found = Vec::new();
    let detail = if receiver.wait >= CONTENDED { "other threads take its CPU" } else { "" };
    for evidence in receiving(signals, receiver, sender) {
        let busy = share("receiver on a CPU or waiting for one", receiver.busy(), AtLeast(BUSY));
        found.push(candidate(Limiter::ReceiverCpu, detail, evidence.into_iter().chain([busy]).collect()));
    }
    let napi = vec![
        share("sender asleep for room in its socket", sender.asleep, AtLeast(0.05)),
        share("receiving interface's thread on a CPU or waiting for one", receiver.napi, AtLeast(BUSY)),
    ];
    found.push(candidate(Limiter::ReceiverCpu, "in the kernel, where its interface receives", napi));
    found
}

fn tcp_ends(signals: &Signals) -> Option<(EndTimes, EndTimes)> {
    signals.is_tcp.then_some(())?;
    Some((signals.sender?, signals.receiver?))
}
