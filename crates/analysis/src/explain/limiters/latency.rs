//! The time that each request or connection waits for its answer.

use super::evidence::{candidate, share};
use crate::explain::limiter::Bound::AtLeast;
use crate::explain::limiter::{Candidate, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// A client that waits for more than this share waits longer than it works.
const MOST: f64 = 0.5;

/// From this size, in bytes, the rate of the path and its windows may take longer than the round trip, and
/// more flows then share them.
const LARGE: u32 = 65_536;

/// The share of a large transaction's time that the least round trip takes where it is what is waited for.
const ROUND_TRIP: f64 = 0.25;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "latency",
    title: "latency",
    remedy: "more flows (-P), so that more of them are in progress; a shorter time until the answer",
    questions: &[Question {
        step: Step::Latency,
        about: "",
        evidence: "requests or connections; the client waits for answers 50 % of the time; where each moves 64 KiB or more, a quarter of its time is a round trip",
        rule: |signals| waiting(signals).into_iter().collect(),
    }],
};

fn waiting(signals: &Signals) -> Option<Candidate> {
    let (transactions, client) = (signals.transactions?, signals.sender?);
    let what = if transactions.connects {
        "connection"
    } else {
        "request"
    };
    let mut detail = format!("one {what} at a time");
    if transactions.flows > 1.0 {
        detail += &format!(" in each of {:.0} flows", transactions.flows);
    }
    let each_us = transactions.each_ns / 1e3;
    let waited_us = client.blocked * each_us;
    detail += &format!("; {waited_us:.0} of {each_us:.0} µs are waiting");
    let mut evidence = vec![share(
        "client waiting for answers",
        client.blocked,
        AtLeast(MOST),
    )];
    if let Some(rtt_ns) = transactions.rtt_ns.filter(|_| transactions.bytes >= LARGE) {
        let of_time = rtt_ns / transactions.each_ns;
        evidence.push(share(
            "minimum round-trip time ÷ time of a transaction",
            of_time,
            AtLeast(ROUND_TRIP),
        ));
    }
    Some(candidate(ROW.limiter(), detail, evidence))
}
