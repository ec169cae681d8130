//! The sender's socket buffer.

use super::evidence::{candidate, share};
use crate::explain::bounds::{BUFFER_LIMITED, CWND_FULL, HELD_UP};
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{Candidate, LimiterRow, Question, Step};
use crate::explain::signals::{Signals, Tcp};

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "send_buffer",
    title: "send buffer",
    remedy: "raise the send buffer (--send-buffer); net.core.wmem_max and net.ipv4.tcp_wmem limit it",
    questions: &[
        Question {
            step: Step::Buffers,
            about: "",
            evidence: "25 % of the busy time (`tcpi_sndbuf_limited`), and more than the share limited by the receive window",
            rule: |signals| limited(&signals.tcp, true).into_iter().collect(),
        },
        Question {
            step: Step::Windows,
            about: "",
            evidence: "the same, but no more than the share limited by the receive window; or at most 15 % of what waits in the socket unsent, the send buffer 50 % in use, and the congestion window at most 80 %",
            rule: |signals| {
                let tcp = &signals.tcp;
                limited(tcp, false).into_iter().chain(used(tcp)).collect()
            },
        },
        Question {
            step: Step::Windows,
            about: "UDP, in a lab with interrupt moderation",
            evidence: "sender blocked in send 30 %, receiver blocked in receive 30 %",
            rule: |signals| datagrams(signals).into_iter().collect(),
        },
    ],
};

/// The time that the kernel counts, where it is the larger of both buffers' times, or where it is
/// not.
fn limited(tcp: &Tcp, is_larger: bool) -> Option<Candidate> {
    let receiving = tcp.rwnd_limited;
    let limited = tcp
        .sndbuf_limited
        .filter(|limited| receiving.is_none_or(|receiving| *limited > receiving) == is_larger)?;
    let evidence = share(
        "busy time limited by the send buffer (tcpi_sndbuf_limited)",
        limited,
        AtLeast(BUFFER_LIMITED),
    );
    Some(candidate(ROW.limiter(), "", vec![evidence]))
}

fn used(tcp: &Tcp) -> Option<Candidate> {
    let evidence = vec![
        share(
            "unsent of what waits in the socket",
            tcp.unsent?,
            AtMost(0.15),
        ),
        share("send buffer in use", tcp.buffer_use?, AtLeast(0.5)),
        share("congestion window in use", tcp.cwnd_use?, AtMost(CWND_FULL)),
    ];
    Some(candidate(ROW.limiter(), "", evidence))
}

/// Datagrams that the receiver's interface has not polled yet fill the buffer: a virtual interface
/// hands a datagram's memory back to the sender when it is received, not when it has left.
fn datagrams(signals: &Signals) -> Option<Candidate> {
    let (sender, receiver) = (signals.sender?, signals.receiver?);
    (!signals.is_tcp && signals.is_moderated).then_some(())?;
    let evidence = vec![
        share("sender blocked in send", sender.blocked, AtLeast(HELD_UP)),
        share(
            "receiver blocked in receive",
            receiver.blocked,
            AtLeast(HELD_UP),
        ),
    ];
    let detail = "datagrams fill it until the receiving interface polls";
    Some(candidate(ROW.limiter(), detail, evidence))
}
