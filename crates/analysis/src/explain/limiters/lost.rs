//! Lost datagrams and retransmitted segments, by what dropped them.

use super::application::overflows;
use super::evidence::{EXPLAINED, LOSS_PCT, dropped, least, least_of};
use super::path::stands;
use crate::explain::hops::Hop;
use crate::explain::limiter::{Candidate, Evidence, LimiterRow};
use crate::explain::signals::Signals;
use crate::explain::tcp::Tcp;

/// A sender that requests no rate gains less than an experiment counts (1.15 times) where under this share, in per cent, is lost.
const LITTLE_PCT: f64 = 13.0;

/// Share of retransmitted segments from which on loss matters.
pub(super) const RETRANSMITTED: f64 = 0.001;

/// From this share of the time, requests are late because they are lost.
const RESENDING: f64 = 0.3;

pub(super) const OF_TIMERS: &str =
    "time in which requests wait for retransmission timers, at least";

/// What helps where more datagrams come to a queue than leave it.
const OF_DATAGRAMS: &str = "request a rate that fits through that queue (-b), or raise the limit of that queue; where its link is full, raise the link's rate";

pub static UDP_RECEIVE_BUFFER: LimiterRow = LimiterRow {
    name: "udp_receive_buffer",
    title: "UDP receive buffer overflow",
    remedy: "raise the receive buffer (--receive-buffer); net.core.rmem_max limits it; or send in smaller bursts",
    evidence: "over 2 % of datagrams lost, half of them dropped by the receiving socket, whose program has time left",
    suspects: |signals, found| {
        let drops = signals.loss.and_then(|loss| loss.socket);
        let evidence = drops.and_then(|drops| datagrams(signals, OF_SOCKET, drops));
        let is_little =
            signals.rate_kept.is_none() && signals.loss.is_some_and(|loss| loss.pct < LITTLE_PCT);
        let weight = if is_little { 0.7 } else { 0.9 };
        let lost = evidence.map(|evidence| UDP_RECEIVE_BUFFER.suspect(weight, evidence));
        found.extend(lost.map(|lost| match signals.pinned_together {
            true => lost.with_detail(PINNED_TOGETHER),
            false => in_bursts(signals, lost),
        }));
        found.extend(overflows(signals, &UDP_RECEIVE_BUFFER));
    },
};

pub static QUEUE_OVERFLOW: LimiterRow = LimiterRow {
    name: "queue_overflow",
    title: "queue overflow",
    remedy: "raise the limit of that queue, or send in smaller bursts",
    evidence: "over 2 % of datagrams lost, half of them dropped by one queueing discipline or link emulator that was full, or by a CPU's backlog; or enough segments lost, half as many dropped by one of these, a packet counted as segments sent ÷ packets that passed there, and the round-trip time does not show a queue that is never empty",
    suspects: |signals, found| {
        let queue = |hop: &Hop| (hop.name.clone(), hop.kind.clone(), hop.drops);
        let mut dropping: Vec<_> = signals.hops.iter().map(queue).collect();
        let softnet = signals.loss.and_then(|loss| loss.softnet);
        let backlog = "a CPU's backlog";
        dropping.extend(softnet.map(|drops| (backlog.to_owned(), "softnet".to_owned(), drops)));
        dropping.retain(|(.., drops)| *drops > 0.0);
        found.extend(dropping.into_iter().filter_map(|(name, kind, drops)| {
            let evidence = datagrams(signals, &format!("drops of {kind} at {name}"), drops)?;
            let lost = QUEUE_OVERFLOW.suspect(0.9, evidence);
            let lost = lost.at(format!("at {name}"));
            let lost = match name == backlog {
                true => lost,
                false => lost.with_remedy(OF_DATAGRAMS),
            };
            Some(in_bursts(signals, lost))
        }));
        found.extend(of_streams(signals));
    },
};

pub static PATH_LOSS: LimiterRow = LimiterRow {
    name: "path_loss",
    title: "path loss",
    remedy: "find where packets are lost: a policer, a bad link, a device whose drops are not counted here",
    evidence: "over 2 % of datagrams lost, half of them where nothing counts drops, or by the random loss that a link emulator was set to; or requests of at most three segments wait for retransmission timers 30 % of the time, at 200 ms each, and 1 s each for a connection",
    suspects: |signals, found| {
        found.extend(unseen(signals));
        let requests = signals.transactions.filter(|requests| requests.is_short);
        let resending = requests.and_then(|requests| requests.resending);
        let shown = |share| PATH_LOSS.shown(0.75, least(OF_TIMERS, share, RESENDING));
        found.extend(resending.map(shown));
    },
};

const PINNED_TOGETHER: &str =
    "both ends are pinned to one CPU, where the sender keeps the receiver from taking datagrams";

const OF_SOCKET: &str = "drops of the receiving socket";

/// What lost datagrams, which some queue must hold together where they are sent in bursts.
fn in_bursts(signals: &Signals, lost: Candidate) -> Candidate {
    let burst = signals.loss.and_then(|loss| loss.burst);
    match burst.filter(|count| *count > 1) {
        Some(count) => Candidate {
            remedy: None,
            ..lost.with_detail(format!(
                "sent in bursts of {count} datagrams, which a queue must hold"
            ))
        },
        None => lost,
    }
}

/// Evidence that datagrams are lost, and that these drops explain it.
pub(super) fn datagrams(signals: &Signals, counter: &str, drops: f64) -> Option<Vec<Evidence>> {
    let loss = signals.loss?;
    let share = drops / loss.lost.max(1.0);
    Some(vec![
        least_of("datagrams lost", loss.pct, "%", LOSS_PCT),
        least(format!("{counter} ÷ datagrams lost"), share, EXPLAINED),
    ])
}

/// Evidence that the receiving socket dropped datagrams, and why its program did not take them.
pub(super) fn at_socket(signals: &Signals, why: Evidence) -> Option<Vec<Evidence>> {
    let mut evidence = datagrams(signals, OF_SOCKET, signals.loss?.socket?)?;
    evidence.push(why);
    Some(evidence)
}

/// Evidence that enough was retransmitted to matter. A window of W segments that loses one halves, and needs about W ÷ 2
/// round trips with some W segments each to grow back: one loss in W² segments keeps it small.
pub(super) fn losses(tcp: &Tcp) -> Option<Evidence> {
    let window = tcp.cwnd_segments.unwrap_or(1.0);
    let counter = "retransmitted segments, against one loss in a window's square";
    let often = RETRANSMITTED.min(1.0 / (window * window));
    Some(least(counter, tcp.retransmitted?, often))
}

/// Queues that dropped what was retransmitted.
fn of_streams(signals: &Signals) -> Vec<Candidate> {
    if stands(signals).is_some_and(|found| found.holds()) {
        return Vec::new();
    }
    let tcp = &signals.tcp;
    let dropping = signals.hops.iter().filter(|hop| hop.drops > 0.0);
    let named = dropping.filter_map(|hop| {
        let place = format!("{} at {}", hop.kind, hop.name);
        let dropped_by = format!("segments dropped by {place} ÷ retransmitted segments");
        let share = dropped(hop, tcp)?;
        let evidence = vec![losses(tcp)?, least(dropped_by, share, EXPLAINED)];
        let found = QUEUE_OVERFLOW.suspect(0.6, evidence);
        Some(found.at(format!("at {}", hop.name)))
    });
    named.collect()
}

/// Datagrams that no counter saw.
fn unseen(signals: &Signals) -> Option<Candidate> {
    let loss = signals.loss?;
    let counters = [loss.socket, loss.softnet, loss.departure];
    let at_ends: f64 = counters.into_iter().flatten().sum();
    let between: f64 = signals.hops.iter().map(|hop| hop.drops).sum();
    let unseen = (loss.lost - at_ends - between).max(0.0);
    let evidence = datagrams(signals, "lost where nothing counted drops", unseen)?;
    let lost = in_bursts(signals, PATH_LOSS.suspect(0.9, evidence));
    Some(match loss.largest {
        Some(_) => {
            lost.with_detail("fragmentation: a datagram is lost when one of its fragments is")
        }
        None => lost,
    })
}
