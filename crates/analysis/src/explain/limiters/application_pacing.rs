//! The rate that the program itself keeps.

use super::evidence::{candidate, share};
use crate::explain::bounds::{BLOCKED, RATE_KEPT};
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{Candidate, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// A sender that keeps its own rate sleeps for this share.
const PACED: f64 = 0.10;

/// The remedy of requests that begin at a rate.
const OPEN_LOOP: &str = "ask for a higher rate (--transaction-rate)";

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "application_pacing",
    title: "application pacing",
    remedy: "ask for a higher rate (-b)",
    questions: &[Question {
        step: Step::Program,
        about: "",
        evidence: "the requested rate is missed by 2 % at most; or voluntary sleep of the sender 10 %, and blocked in send 15 % at most",
        rule: paced,
    }],
};

fn paced(signals: &Signals) -> Vec<Candidate> {
    let mut found = Vec::new();
    if let Some(kept) = signals.rate_kept {
        let evidence = share(
            "rate handed over, below the requested rate by",
            (1.0 - kept).max(0.0),
            AtMost(RATE_KEPT),
        );
        let kept = candidate(ROW.limiter(), "the requested rate is kept", vec![evidence]);
        let is_open_loop = signals.transactions.is_some();
        found.push(Candidate {
            remedy: is_open_loop.then(|| OPEN_LOOP.to_owned()),
            ..kept
        });
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
        found.push(candidate(ROW.limiter(), "", evidence));
    }
    found
}
