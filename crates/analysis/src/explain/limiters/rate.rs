//! The rate of a link, of a shaper at a named hop, or of a path whose queue is not seen.

use super::ends::at_work;
use super::evidence::{candidate, number, share};
use crate::explain::bounds::{HELD_UP, QUEUEING, RATE_KEPT, RETRANSMITTED, SHARED, STANDING};
use crate::explain::hops::Hop;
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{
    Candidate, Evidence, Limiter, LimiterRow, ON_THE_PATH, Question, Step,
};
use crate::explain::signals::Signals;

/// Coefficient of variation of the rate below which it is steady.
const VARIATION: f64 = 0.2;

/// The share of a set rate that may be missing where the queue limits.
const UNFILLED: f64 = 0.03;

/// The detail of a path whose queue is never empty.
const STANDS: &str = "a queue builds up there";

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "rate",
    title: "link or shaper rate",
    remedy: "raise the rate of that link or shaper; more flows or larger buffers change nothing",
    questions: &[
        Question {
            step: Step::SetRate,
            about: "at a hop with a known rate",
            evidence: "97 % of the rate that its queueing discipline or link emulator is set to passed, and a queueing discipline held packets back 100 times a second, or at a low rate once in 128 KiB; a requested rate is not kept",
            rule: filled,
        },
        Question {
            step: Step::Queue,
            about: "at a hop",
            evidence: "its queueing discipline held packets back as often, half of the samples find packets in it, sender blocked in send 30 % or more",
            rule: shapers,
        },
        Question {
            step: Step::Path,
            about: "on the path",
            evidence: "round-trip time 1.5 × its smallest value and 75 % of the CPUs that both ends share in use at most, or a pacing rate of 0.9 to 1.15 × goodput without retransmissions; rate varies by 20 % at most; sender blocked in send 30 %",
            rule: unseen,
        },
    ],
};

/// Queues that pass all that their rate allows, however the sender spends its time: one that is
/// held back by its own interface may wait on its CPU.
fn filled(signals: &Signals) -> Vec<Candidate> {
    if signals
        .rate_kept
        .is_some_and(|kept| kept >= 1.0 - RATE_KEPT)
    {
        return Vec::new();
    }
    let full = |hop: &Hop| {
        let rate_bps = hop.rate_bps.filter(|rate| *rate > 0.0)?;
        let missing = share(
            format!("set rate of {} at {} that did not pass", hop.kind, hop.name),
            (1.0 - hop.passed_bps / rate_bps).max(0.0),
            AtMost(UNFILLED),
        );
        let held = hop.counts_holds.then(|| held_back(hop));
        let evidence = [missing].into_iter().chain(held).collect();
        Some(candidate(at(hop), "", evidence))
    };
    signals.hops.iter().filter_map(full).collect()
}

fn at(hop: &Hop) -> Limiter {
    ROW.at_hop(&hop.name)
}

fn held_back(hop: &Hop) -> Evidence {
    number(
        format!("{} at {} held packets back", hop.kind, hop.name),
        hop.overlimits,
        "times/s",
        AtLeast(hop.holds_least()),
    )
}

/// Queues on the path that hold packets back to a rate.
fn shapers(signals: &Signals) -> Vec<Candidate> {
    let Some(sender) = signals.sender else {
        return Vec::new();
    };
    let shaper = |hop: &Hop| {
        let evidence = vec![
            held_back(hop),
            share(
                "samples with packets waiting there",
                hop.standing,
                AtLeast(STANDING),
            ),
            share("sender blocked in send", sender.blocked, AtLeast(HELD_UP)),
        ];
        candidate(at(hop), "", evidence)
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

/// Whether a queue on the path stands all the time, so that its rate passes whole.
pub(super) fn is_never_empty(signals: &Signals) -> bool {
    let mut found = unseen(signals).into_iter();
    found.any(|found| found.detail == STANDS && found.holds())
}

/// A queue whose counters are not known: the round-trip time grew and the rate is steady, or the
/// connection found the path's rate.
fn unseen(signals: &Signals) -> Vec<Candidate> {
    let (tcp, mut found) = (&signals.tcp, Vec::new());
    let (Some(variation), Some(sender)) = (signals.variation, signals.sender) else {
        return found;
    };
    let mut dropping = signals.hops.iter().filter(|hop| hop.drops > 0.0);
    let place = match (dropping.next(), dropping.next()) {
        (Some(hop), None) => at(hop),
        _ => ROW.placed(ON_THE_PATH),
    };
    let on_the_path = |detail, evidence| candidate(place.clone(), detail, evidence);
    let held_up = share("sender blocked in send", sender.blocked, AtLeast(HELD_UP));
    let steady = share("variation of the rate", variation, AtMost(VARIATION));
    if let Some(queueing) = tcp.queueing {
        let evidence = vec![
            number(
                "round-trip time ÷ its minimum",
                queueing,
                "",
                AtLeast(QUEUEING),
            ),
            steady.clone(),
            held_up.clone(),
        ];
        // Packets also wait for a full CPU.
        let evidence = evidence.into_iter().chain(at_work(signals, AtMost(SHARED)));
        found.push(on_the_path(STANDS, evidence.collect()));
    }
    if let (Some(pacing), Some(again), Some(unsent)) =
        (tcp.pacing_use, tcp.retransmitted, tcp.unsent)
    {
        let paces = "rate at which the connection paces itself ÷ goodput";
        let evidence = vec![
            number(paces, pacing, "", AtLeast(0.9)),
            number(paces, pacing, "", AtMost(1.15)),
            share("unsent of what waits in the socket", unsent, AtLeast(0.15)),
            share("retransmitted segments", again, AtMost(RETRANSMITTED)),
            steady,
            held_up,
        ];
        found.push(on_the_path(
            "the connection paces itself at the rate that it finds",
            evidence,
        ));
    }
    found
}
