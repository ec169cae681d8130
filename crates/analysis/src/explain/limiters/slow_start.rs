//! The congestion window, which grew until the run's end.

use super::evidence::{candidate, number, share};
use crate::explain::bounds::{HELD_UP, RETRANSMITTED, STEADY};
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{Candidate, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "congestion_window_slow_start",
    title: "congestion window (slow start)",
    remedy: "measure for longer, or begin with a longer warm-up",
    questions: &[Question {
        step: Step::Growth,
        about: "",
        evidence: "the rate of the last third is over 1.6 × that of the first, and the congestion window too; no loss has set the threshold of slow start, or at most 0.1 % of segments retransmitted; sender blocked in send 30 % or more",
        rule: |signals| grown(signals).into_iter().collect(),
    }],
};

fn grown(signals: &Signals) -> Option<Candidate> {
    let (sender, tcp) = (signals.sender?, &signals.tcp);
    let mut evidence = vec![
        number(
            "rate of the last third ÷ first third",
            signals.trend?,
            "",
            AtLeast(STEADY),
        ),
        number(
            "congestion window at the end ÷ at the start",
            tcp.cwnd_growth?,
            "",
            AtLeast(STEADY),
        ),
        share("sender blocked in send", sender.blocked, AtLeast(HELD_UP)),
    ];
    if tcp.never_reduced != Some(true) {
        evidence.push(share(
            "retransmitted segments",
            tcp.retransmitted?,
            AtMost(RETRANSMITTED),
        ));
    }
    let detail = if tcp.in_slow_start == Some(true) {
        "still in slow start at the end"
    } else {
        ""
    };
    Some(candidate(ROW.limiter(), detail, evidence))
}
