//! Waking the other endpoint's thread.

use super::evidence::{candidate, share};
use crate::explain::limiter::Bound::AtLeast;
use crate::explain::limiter::{Candidate, LimiterRow, Question, Step};
use crate::explain::transactions::Transactions;

/// What takes more than this share takes more than everything else together.
const MOST: f64 = 0.5;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "wake_ups",
    title: "wake-ups",
    remedy: "let the receivers poll (--set waiting=spin)",
    questions: &[Question {
        step: Step::WakeUps,
        about: "",
        evidence: "requests or connections; wake-ups × the time until a woken thread runs on this host are 50 % of the time of a transaction, or × that of the call that wakes, 50 % of the CPU time of both endpoints",
        rule: |signals| {
            signals
                .transactions
                .as_ref()
                .map(waking)
                .unwrap_or_default()
        },
    }],
};

fn waking(transactions: &Transactions) -> Vec<Candidate> {
    let (Some(wakeups), Some(wake), Some(of_time), Some(of_cpus)) = (
        transactions.wakeups,
        transactions.wake,
        transactions.waking_share(),
        transactions.cpu_share(),
    ) else {
        return Vec::new();
    };
    let detail = format!(
        "{:.0} % of both CPUs' time is waking the other endpoint: {wakeups:.1} wake-ups per message × {:.1} µs; {:.1} µs until the woken thread runs",
        100.0 * of_cpus,
        wake.call_ns / 1e3,
        wake.run_ns / 1e3
    );
    let evidence = [
        share(
            "time until woken threads run ÷ time of a transaction",
            of_time,
            AtLeast(MOST),
        ),
        share(
            "time of waking ÷ time of both endpoints' CPUs",
            of_cpus,
            AtLeast(MOST),
        ),
    ];
    let named = |evidence| Candidate {
        remedy: Some(remedy(transactions)),
        ..candidate(ROW.limiter(), detail.clone(), vec![evidence])
    };
    evidence.map(named).to_vec()
}

/// What can be changed and is not set already.
fn remedy(transactions: &Transactions) -> String {
    let ways = [
        (!transactions.same_cpus, "receivers that poll (waiting)"),
        (!transactions.busy_polls, "busy polling (busy_poll_us)"),
        (
            !transactions.same_cpus,
            "both endpoints on one CPU (sender_cpus, receiver_cpus)",
        ),
        (transactions.connects, "more requests for each connection"),
        (!transactions.connects, "larger messages"),
        (
            transactions.flows > 1.0 && !transactions.moderates,
            "interrupt moderation",
        ),
    ];
    let open: Vec<&str> = ways
        .into_iter()
        .filter_map(|(is_open, way)| is_open.then_some(way))
        .collect();
    format!("wake less often: {}", open.join("; "))
}
