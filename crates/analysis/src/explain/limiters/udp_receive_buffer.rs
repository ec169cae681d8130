//! The receiver's socket buffer, which had no room for datagrams.

use super::evidence::candidate;
use super::loss::at_socket;
use crate::explain::limiter::{Candidate, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "udp_receive_buffer",
    title: "UDP receive buffer overflow",
    remedy: "raise the receive buffer (--receive-buffer); net.core.rmem_max limits it; or send in smaller bursts",
    questions: &[Question {
        step: Step::Loss,
        about: "",
        evidence: "the same drops",
        rule: overflow,
    }],
};

/// The receiving socket's buffer is too small for the bursts.
fn overflow(signals: &Signals) -> Vec<Candidate> {
    at_socket(signals)
        .into_iter()
        .map(|evidence| candidate(ROW.limiter(), "", evidence))
        .collect()
}
