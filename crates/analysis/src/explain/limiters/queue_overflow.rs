//! A full queue at a named hop.

use super::evidence::candidate;
use super::loss::{explained, lost, retransmitted};
use super::rate::is_never_empty;
use crate::explain::hops::Hop;
use crate::explain::limiter::{Candidate, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// What helps where more datagrams come to a queue than leave it.
const OF_DATAGRAMS: &str = "request a rate that fits through that queue (-b), or raise the limit of that queue; where its link is full, raise the link's rate";

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
            evidence: "as many segments retransmitted as in the row above; at least half as many dropped by one queueing discipline or link emulator that was full, a packet counted as segments sent ÷ packets that passed there; not where the round-trip time is evidence of a rate on the path",
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
        let remedy = (kind != "softnet").then(|| OF_DATAGRAMS.to_owned());
        Candidate {
            remedy,
            ..candidate(ROW.at_hop(&name), "", evidence)
        }
    };
    dropping.into_iter().map(overflow).collect()
}

/// Queues that dropped what was retransmitted.
fn of_streams(signals: &Signals) -> Vec<Candidate> {
    if is_never_empty(signals) {
        return Vec::new();
    }
    let named = |hop: &Hop| {
        // One packet may be several segments, as long as nothing splits it.
        let segments = signals.tcp.segments;
        let each = segments.map_or(1.0, |all| (all / hop.packets.max(1.0)).max(1.0));
        let evidence = retransmitted(
            signals,
            &format!("{} at {}", hop.kind, hop.name),
            hop.drops * each,
        )?;
        Some(candidate(ROW.at_hop(&hop.name), "", evidence))
    };
    let dropping = signals.hops.iter().filter(|hop| hop.drops > 0.0);
    dropping.filter_map(named).collect()
}
