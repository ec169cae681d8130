//! A full queue at a named hop.

use super::evidence::{candidate, share};
use super::loss::{explained, lost};
use crate::explain::bounds::{EXPLAINED, RETRANSMITTED};
use crate::explain::limiter::Bound::AtLeast;
use crate::explain::limiter::{Candidate, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "queue_overflow",
    title: "queue overflow",
    remedy: "raise the limit of that queue, or send in smaller bursts",
    questions: &[
        Question {
            step: Step::Loss,
            about: "UDP",
            evidence: "over 2 % lost, half of them dropped by one queueing discipline or link emulator that was full, or by a CPU's backlog",
            rule: of_datagrams,
        },
        Question {
            step: Step::Congestion,
            about: "TCP",
            evidence: "over 0.1 % of segments retransmitted, or one in W² at a congestion window of W segments; and half as many dropped by one queueing discipline or link emulator that was full; a packet counts as segments sent ÷ packets that passed there",
            rule: of_streams,
        },
    ],
};

/// Queues that dropped what was lost, worst first.
fn of_datagrams(signals: &Signals) -> Vec<Candidate> {
    let Some(loss) = signals.loss else {
        return Vec::new();
    };
    let mut dropping: Vec<_> = signals
        .hops
        .iter()
        .map(|hop| (hop.name.clone(), hop.kind.clone(), hop.drops))
        .collect();
    dropping.extend(
        loss.softnet
            .map(|drops| ("a CPU's backlog".to_owned(), "softnet".to_owned(), drops)),
    );
    dropping.retain(|(.., drops)| *drops > 0.0);
    dropping.sort_by(|a, b| b.2.total_cmp(&a.2));
    let overflow = |(name, kind, drops): (String, String, f64)| {
        let evidence = vec![
            lost(&loss),
            explained(&loss, format!("drops of {kind} at {name}"), drops),
        ];
        candidate(ROW.placed(format!("at {name}")), "", evidence)
    };
    dropping.into_iter().map(overflow).collect()
}

/// Queues that dropped what was retransmitted.
fn of_streams(signals: &Signals) -> Vec<Candidate> {
    let tcp = &signals.tcp;
    let (Some(again), Some(retransmits)) = (tcp.retransmitted, tcp.retransmits) else {
        return Vec::new();
    };
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
            ROW.placed(format!("at {}", hop.name)),
            "",
            evidence,
        ));
    }
    found
}
