//! The congestion window, kept small by loss at an unknown place.

use super::evidence::{candidate, number, share};
use crate::explain::bounds::{CWND_FULL, QUEUEING, RETRANSMITTED};
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{Candidate, LimiterRow, Question, Step};
use crate::explain::signals::Tcp;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "congestion_window_loss",
    title: "congestion window (loss)",
    remedy: "find where segments are lost, or try a congestion control that tolerates loss (bbr)",
    questions: &[Question {
        step: Step::Congestion,
        about: "",
        evidence: "over 0.1 % retransmitted, round-trip time under 1.5 × its smallest value, congestion window 80 % in use",
        rule: |signals| losing(&signals.tcp).into_iter().collect(),
    }],
};

fn losing(tcp: &Tcp) -> Option<Candidate> {
    tcp.retransmits?;
    let evidence = vec![
        share(
            "retransmitted segments",
            tcp.retransmitted?,
            AtLeast(RETRANSMITTED),
        ),
        number(
            "round-trip time ÷ its minimum",
            tcp.queueing?,
            "",
            AtMost(QUEUEING),
        ),
        share(
            "congestion window in use",
            tcp.cwnd_use?,
            AtLeast(CWND_FULL),
        ),
    ];
    Some(candidate(ROW.limiter(), "", evidence))
}
