//! The receiver's socket buffer, by the window that it announces.

use super::evidence::{candidate, share};
use crate::explain::bounds::BUFFER_LIMITED;
use crate::explain::limiter::Bound::AtLeast;
use crate::explain::limiter::{Candidate, LimiterRow, Question, Step};
use crate::explain::signals::Tcp;

/// A window is full if this share of it is used.
const WINDOW_FULL: f64 = 0.9;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "receive_buffer",
    title: "receive buffer (receive window)",
    remedy: "raise the receive buffer (--receive-buffer); net.core.rmem_max and net.ipv4.tcp_rmem limit it",
    questions: &[
        Question {
            step: Step::Buffers,
            about: "",
            evidence: "25 % of the busy time (`tcpi_rwnd_limited`), and no less than the share limited by the send buffer",
            rule: |signals| limited(&signals.tcp, true).into_iter().collect(),
        },
        Question {
            step: Step::Windows,
            about: "",
            evidence: "the same, but less than the share limited by the send buffer; or receive window 90 % in use",
            rule: |signals| {
                let tcp = &signals.tcp;
                limited(tcp, false).into_iter().chain(used(tcp)).collect()
            },
        },
    ],
};

/// The time that the kernel counts, where it is the larger of both buffers' times, or where it is
/// not.
fn limited(tcp: &Tcp, is_larger: bool) -> Option<Candidate> {
    let limited = tcp
        .rwnd_limited
        .filter(|limited| (*limited >= tcp.sndbuf_limited.unwrap_or(0.0)) == is_larger)?;
    let evidence = share(
        "busy time limited by the receive window (tcpi_rwnd_limited)",
        limited,
        AtLeast(BUFFER_LIMITED),
    );
    Some(candidate(ROW.limiter(), "", vec![evidence]))
}

fn used(tcp: &Tcp) -> Option<Candidate> {
    let evidence = share("receive window in use", tcp.rwnd_use?, AtLeast(WINDOW_FULL));
    Some(candidate(ROW.limiter(), "", vec![evidence]))
}
