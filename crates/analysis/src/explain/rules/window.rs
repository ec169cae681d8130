//! Limits of the data that TCP may have in flight: buffers and windows.

use super::evidence::{candidate, number, share};
use crate::explain::bounds::{
    BUFFER_LIMITED, CWND_FULL, EXPLAINED, HELD_UP, QUEUEING, RETRANSMITTED, STEADY, WINDOW_FULL,
};
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{Candidate, Evidence, Limiter};
use crate::explain::signals::Signals;

/// Socket buffers of both endpoints, the one that limits for longer first.
pub fn buffers(signals: &Signals) -> Vec<Candidate> {
    let tcp = &signals.tcp;
    let one = |limiter: Limiter, evidence: Vec<Evidence>| candidate(limiter, "", evidence);
    let mut limited = Vec::new();
    if let Some(share_of) = tcp.rwnd_limited {
        let evidence = share(
            "busy time limited by the receive window (tcpi_rwnd_limited)",
            share_of,
            AtLeast(BUFFER_LIMITED),
        );
        limited.push((share_of, one(Limiter::ReceiveBuffer, vec![evidence])));
    }
    if let Some(share_of) = tcp.sndbuf_limited {
        let evidence = share(
            "busy time limited by the send buffer (tcpi_sndbuf_limited)",
            share_of,
            AtLeast(BUFFER_LIMITED),
        );
        limited.push((share_of, one(Limiter::SendBuffer, vec![evidence])));
    }
    limited.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut found: Vec<Candidate> = limited
        .into_iter()
        .map(|(_, candidate)| candidate)
        .collect();
    if let Some(used) = tcp.rwnd_use {
        found.push(one(
            Limiter::ReceiveBuffer,
            vec![share("receive window in use", used, AtLeast(WINDOW_FULL))],
        ));
    }
    if let (Some(unsent), Some(buffer), Some(cwnd)) = (tcp.unsent, tcp.buffer_use, tcp.cwnd_use) {
        let evidence = vec![
            share("unsent of what waits in the socket", unsent, AtMost(0.15)),
            share("send buffer in use", buffer, AtLeast(0.5)),
            share("congestion window in use", cwnd, AtMost(CWND_FULL)),
        ];
        found.push(one(Limiter::SendBuffer, evidence));
    }
    found
}

/// Loss that keeps the congestion window small: at a hop that counted it, or at an unknown place.
pub fn congestion(signals: &Signals) -> Vec<Candidate> {
    let tcp = &signals.tcp;
    let (Some(again), Some(retransmits)) = (tcp.retransmitted, tcp.retransmits) else {
        return Vec::new();
    };
    let lost = share("retransmitted segments", again, AtLeast(RETRANSMITTED));
    // A window of W segments that loses one halves, and needs about W ÷ 2 round trips with some W
    // segments each to grow back: one loss in W² segments keeps it small.
    let often = tcp.cwnd_segments.map_or(RETRANSMITTED, |window| {
        RETRANSMITTED.min(1.0 / (window * window))
    });
    let mut found = Vec::new();
    for hop in signals.hops.iter().filter(|hop| hop.drops > 0.0) {
        // One packet may be several segments, as long as nothing splits it.
        let segments = tcp
            .segments
            .map_or(1.0, |segments| (segments / hop.packets.max(1.0)).max(1.0));
        let explained = hop.drops * segments / retransmits.max(1.0);
        let counter = format!(
            "segments dropped by {} at {} ÷ retransmitted segments",
            hop.kind, hop.name
        );
        let often = share(
            "retransmitted segments, against one loss in a window's square",
            again,
            AtLeast(often),
        );
        let evidence = vec![often, share(counter, explained, AtLeast(EXPLAINED))];
        found.push(candidate(
            Limiter::QueueOverflow(hop.name.clone()),
            "",
            evidence,
        ));
    }
    if let (Some(queueing), Some(used)) = (tcp.queueing, tcp.cwnd_use) {
        let evidence = vec![
            lost,
            number(
                "round-trip time ÷ its least",
                queueing,
                "",
                AtMost(QUEUEING),
            ),
            share("congestion window in use", used, AtLeast(CWND_FULL)),
        ];
        found.push(candidate(Limiter::CongestionLoss, "", evidence));
    }
    found
}

/// The congestion window grew until the run's end.
pub fn slow_start(signals: &Signals) -> Option<Candidate> {
    let (sender, tcp) = (signals.sender?, &signals.tcp);
    let evidence = vec![
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
        share(
            "retransmitted segments",
            tcp.retransmitted?,
            AtMost(RETRANSMITTED),
        ),
        share("sender blocked in send", sender.blocked, AtLeast(HELD_UP)),
    ];
    let detail = if tcp.in_slow_start == Some(true) {
        "still in slow start at the end"
    } else {
        ""
    };
    Some(candidate(Limiter::SlowStart, detail, evidence))
}
