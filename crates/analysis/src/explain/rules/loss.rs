//! Rules for lost datagrams: what dropped them.

use super::evidence::{candidate, number, share};
use crate::explain::bounds::{CONTENDED, EXPLAINED, LOSS_PCT, RECEIVER_BUSY, SLOW_READER};
use crate::explain::limiter::Bound::AtLeast;
use crate::explain::limiter::{Candidate, Evidence, Limiter};
use crate::explain::signals::{Loss, Signals};

fn lost(loss: &Loss) -> Evidence {
    number("datagrams lost", loss.pct, "%", AtLeast(LOSS_PCT))
}

/// The share of the lost datagrams that a counter saw, as evidence.
fn explained(loss: &Loss, counter: String, drops: f64) -> Evidence {
    share(
        format!("{counter} ÷ datagrams lost"),
        drops / loss.lost.max(1.0),
        AtLeast(EXPLAINED),
    )
}

/// Loss and drops of the receiving socket.
fn at_socket(signals: &Signals) -> Option<Vec<Evidence>> {
    let loss = signals.loss?;
    Some(vec![
        lost(&loss),
        explained(&loss, "drops of the receiving socket".into(), loss.socket?),
    ])
}

/// The receiving program sleeps between its calls.
pub fn slow_reader(signals: &Signals) -> Vec<Candidate> {
    let (Some(mut evidence), Some(receiver)) = (at_socket(signals), signals.receiver) else {
        return Vec::new();
    };
    evidence.push(share(
        "receiver sleeping between calls",
        receiver.slept,
        AtLeast(SLOW_READER),
    ));
    vec![candidate(
        Limiter::SlowReader,
        "its socket's buffer overflows",
        evidence,
    )]
}

/// The receiver has no CPU time left for what arrives.
pub fn receiver_cpu(signals: &Signals) -> Vec<Candidate> {
    let (Some(evidence), Some(receiver)) = (at_socket(signals), signals.receiver) else {
        return Vec::new();
    };
    let with = |more: Evidence| evidence.iter().cloned().chain([more]).collect();
    vec![
        candidate(
            Limiter::ReceiverCpu,
            "other threads take its CPU, and its socket's buffer overflows",
            with(share(
                "receiver waiting for a CPU",
                receiver.wait,
                AtLeast(CONTENDED),
            )),
        ),
        candidate(
            Limiter::ReceiverCpu,
            "its socket's buffer overflows",
            with(share(
                "receiver on a CPU",
                receiver.cpu,
                AtLeast(RECEIVER_BUSY),
            )),
        ),
    ]
}

/// The receiving socket's buffer is too small for the bursts.
pub fn socket(signals: &Signals) -> Vec<Candidate> {
    at_socket(signals)
        .into_iter()
        .map(|evidence| candidate(Limiter::UdpReceiveBuffer, "", evidence))
        .collect()
}

/// Queues that dropped what was lost, worst first.
pub fn hops(signals: &Signals) -> Vec<Candidate> {
    let Some(loss) = signals.loss else {
        return Vec::new();
    };
    let mut dropping: Vec<_> = signals
        .hops
        .iter()
        .map(|hop| (hop.name.clone(), hop.kind.clone(), hop.drops))
        .collect();
    dropping.extend(
        loss.softnet
            .map(|drops| ("a CPU's backlog".to_owned(), "softnet".to_owned(), drops)),
    );
    dropping.retain(|(.., drops)| *drops > 0.0);
    dropping.sort_by(|a, b| b.2.total_cmp(&a.2));
    let overflow = |(name, kind, drops): (String, String, f64)| {
        let evidence = vec![
            lost(&loss),
            explained(&loss, format!("drops of {kind} at {name}"), drops),
        ];
        candidate(Limiter::QueueOverflow(name), "", evidence)
    };
    dropping.into_iter().map(overflow).collect()
}

/// No counter saw the drops, so the path lost the datagrams.
pub fn path(signals: &Signals) -> Vec<Candidate> {
    let Some(loss) = signals.loss else {
        return Vec::new();
    };
    let seen = loss.socket.unwrap_or(0.0) + loss.softnet.unwrap_or(0.0);
    let seen = seen + signals.hops.iter().map(|hop| hop.drops).sum::<f64>();
    let unseen = ((loss.lost - seen) / loss.lost.max(1.0)).clamp(0.0, 1.0);
    let evidence = vec![
        lost(&loss),
        share(
            "lost where nothing counted drops",
            unseen,
            AtLeast(EXPLAINED),
        ),
    ];
    vec![candidate(Limiter::PathLoss, "", evidence)]
}
