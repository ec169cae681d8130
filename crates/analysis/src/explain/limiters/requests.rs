//! What requests and connections wait for.

use super::application::in_turns;
use super::evidence::least;
use crate::explain::limiter::{Candidate, LimiterRow};
use crate::explain::signals::Signals;

/// What takes more than this share takes more than everything else together.
const MOST: f64 = 0.5;

/// From this size, in bytes, the rate of the path and its windows may take longer than the round trip, and
/// more flows then share them.
const LARGE: u32 = 65_536;

/// The share of a large transaction's time that the least round trip takes where it is what is waited for.
const ROUND_TRIP: f64 = 0.25;

pub static WAKE_UPS: LimiterRow = LimiterRow {
    name: "wake_ups",
    title: "wake-ups",
    remedy: "wake less often: receivers that poll (--set waiting=spin), busy polling (busy_poll_us), both endpoints on one CPU, larger messages",
    evidence: "an experiment alone (`--prove`)",
    suspects: |_, _| {},
};

pub static LATENCY: LimiterRow = LimiterRow {
    name: "latency",
    title: "latency",
    remedy: "more flows (-P), so that more of them are in progress; a shorter time until the answer",
    evidence: "requests or connections; the client waits for answers 50 % of the time; where each moves 64 KiB or more, a quarter of its time is a round trip",
    suspects: |signals, found| {
        found.extend(waiting(signals));
        let foreign = signals.programs();
        found.extend(foreign.filter_map(|of| in_turns(signals, &of, &LATENCY)));
    },
};

fn waiting(signals: &Signals) -> Option<Candidate> {
    let (transactions, client) = (signals.transactions?, signals.sender?);
    let what = match transactions.connects {
        true => "connection",
        false => "request",
    };
    let mut detail = format!("one {what} at a time");
    if transactions.flows > 1.0 {
        detail += &format!(" in each of {:.0} flows", transactions.flows);
    }
    let each_us = transactions.each_ns / 1e3;
    detail += &format!(
        "; {:.0} of {each_us:.0} µs are waiting",
        client.blocked * each_us
    );
    let mut evidence = vec![least("client waiting for answers", client.blocked, MOST)];
    if let Some(rtt_ns) = transactions.rtt_ns.filter(|_| transactions.bytes >= LARGE) {
        let counter = "minimum round-trip time ÷ time of a transaction";
        evidence.push(least(counter, rtt_ns / transactions.each_ns, ROUND_TRIP));
    }
    Some(LATENCY.suspect(0.7, evidence).with_detail(detail))
}
