//! What the sockets of a run sent, received and retransmitted.

use bitcost_model::record::{EndpointRecord, Role, TcpInfo, WholeRun};

use super::drops::{Drops, row};
use super::readings::{Both, grown, sum};
use super::sums::{LossLedger, Spurious};
use crate::metrics::{PartRun, RunView, parts};

/// Counters of packets that TCP had counted as received and then dropped (`LINUX_MIB_…`,
/// linux/snmp.h).
const TCP_DROPS: [&str; 5] = [
    "TcpExt.TCPBacklogDrop",
    "TcpExt.TCPRcvQDrop",
    "TcpExt.TCPZeroWindowDrop",
    "TcpExt.TCPOFODrop",
    "TcpExt.OfoPruned",
];

/// The sums over the sockets of all parts of a run.
#[derive(Default)]
pub(super) struct Totals {
    /// The share of the segments that carried data, where acknowledgements take the same way.
    pub share: f64,
    /// Segments sent less those that the other socket received, which may be copies.
    missing_segments: i64,
    /// Datagrams of which no copy came, less the copies of others that came.
    missing_datagrams: i64,
    /// The copies that receivers of datagrams saw.
    seen_copies: u64,
    reported: Option<u64>,
    /// Whether a sender saw that segments had arrived in another order.
    is_reordered: bool,
    /// The ledger, of whose drops it has those at the sockets.
    pub ledger: LossLedger,
}

/// Adds up the parts of a run.
pub(super) fn totals(run: &RunView, both: &Both, copies: u64) -> Result<Totals, &'static str> {
    let mut totals = Totals {
        share: 1.0,
        ledger: LossLedger {
            copies,
            ..LossLedger::default()
        },
        ..Totals::default()
    };
    let mut segments = Some(0);
    for (index, part) in parts(run).iter().enumerate() {
        match part.conditions.workload.is_datagram() {
            true => totals.add_datagrams(part, index, both)?,
            false => {
                let both_ways = totals.add_segments(part, index, both)?;
                segments = segments.zip(both_ways).map(|(sum, more)| sum + more);
            }
        }
    }
    let is_tcp = totals.ledger.retransmitted.is_some();
    totals.lose(is_tcp);
    if both.goes_both_ways {
        let all = segments.filter(|all| *all >= totals.ledger.sent);
        totals.share = all.map_or(1.0, |all| totals.ledger.sent as f64 / all.max(1) as f64);
    }
    if is_tcp {
        totals.drop_at_tcp(both);
        totals.explain(both);
    }
    let ledger = &mut totals.ledger;
    let all = ledger.sent.saturating_add(ledger.copies);
    ledger.delivered = all.saturating_sub(ledger.lost());
    Ok(totals)
}

impl Totals {
    /// Adds the connections of a part; returns all segments that they sent, with acknowledgements.
    fn add_segments(
        &mut self,
        part: &PartRun,
        index: usize,
        both: &Both,
    ) -> Result<Option<u64>, &'static str> {
        if !part.conditions.workload.keeps_connection() {
            return Err("each transaction has a connection, whose counters end with it");
        }
        let ends = both
            .ends()
            .map(|(_, whole)| whole.after.part(index)?.tcp_info);
        let [Some(a), Some(b)] = ends else {
            return Err("the counters of the connections are not known");
        };
        if a.has_wrapped() || b.has_wrapped() {
            return Err("the kernel's 32-bit counters of segments went round");
        }
        let unknown = "this kernel does not count the segments of a connection";
        let sum = |of: fn(&TcpInfo) -> Option<u32>| Some(u64::from(of(&a)?) + u64::from(of(&b)?));
        let sent = sum(|info| info.data_segs_out).ok_or(unknown)?;
        let arrived = sum(|info| info.data_segs_in).ok_or(unknown)?;
        let retransmitted = sum(|info| info.total_retrans).ok_or(unknown)?;
        let reported = sum(|info| info.dsack_dups);
        self.reported = match self.ledger.retransmitted {
            None => reported,
            Some(_) => self.reported.zip(reported).map(|(all, more)| all + more),
        };
        self.ledger.retransmitted = Some(self.ledger.retransmitted.unwrap_or(0) + retransmitted);
        self.is_reordered |= sum(|info| info.reord_seen) > Some(0);
        self.add_sent(sent);
        self.missing_segments += signed(sent) - signed(arrived);
        Ok(sum(|info| info.segs_out))
    }

    fn add_sent(&mut self, count: u64) {
        self.ledger.sent = self.ledger.sent.saturating_add(count);
    }

    fn add_datagrams(
        &mut self,
        part: &PartRun,
        index: usize,
        both: &Both,
    ) -> Result<(), &'static str> {
        let fragments = ["Ip.ReasmReqds", "Ip6.ReasmReqds"];
        let mut readings = both.receiving();
        if readings.any(|end| fragments.iter().any(|name| grown(end, name) > Some(0))) {
            return Err("datagrams were sent in fragments, any of which may be the lost one");
        }
        let messages = |end: &EndpointRecord| end.counts.total().messages;
        let lost = if part.conditions.workload.is_transactional() {
            let asked = part.sender.counts.total();
            let requests = asked.messages.saturating_add(asked.unanswered);
            self.add_sent(requests);
            self.add_sent(messages(&part.receiver));
            signed(asked.unanswered)
        } else {
            let sequence = part.receiver.sequence.as_ref();
            let sequence = sequence.ok_or("datagrams have no sequence numbers")?;
            self.add_sent(messages(&part.sender));
            self.ledger.drops.extend(row(
                "the receiver's count, because they arrived too late to be distinguished from duplicates",
                "late datagrams",
                sequence.late,
                1.0,
                1.0,
            ));
            self.seen_copies = self.seen_copies.saturating_add(sequence.duplicated);
            signed(sequence.total_lost) - signed(sequence.duplicated)
        };
        self.missing_datagrams = self.missing_datagrams.saturating_add(lost);
        for (role, whole) in both.ends() {
            let drops = socket_drops(whole, index);
            let by = format!("the {}'s socket buffer", role.name());
            let each = match role {
                Role::Receiver => part.view().datagrams_in_packet(),
                Role::Sender => 1.0,
            };
            let row = row(&by, "sk_drops (SO_MEMINFO)", drops, each, 1.0);
            self.ledger.drops.extend(row);
        }
        Ok(())
    }

    /// Counts what is missing as lost. A copy that did not come was lost as well; where a run has both,
    /// copies are taken for those of segments.
    fn lose(&mut self, is_tcp: bool) {
        if !is_tcp {
            // Not only bitcost's link emulators make some.
            self.ledger.copies = self.ledger.copies.max(self.seen_copies);
        }
        let copies = signed(self.ledger.copies);
        let (segments, datagrams) = if is_tcp { (copies, 0) } else { (0, copies) };
        self.ledger.lost_segments = positive(self.missing_segments.saturating_add(segments));
        self.ledger.lost_datagrams = positive(self.missing_datagrams.saturating_add(datagrams));
    }

    /// Adds what TCP dropped after it had counted it. The counters have packets, of which each may
    /// hold several segments: those that were retransmitted, did arrive, and were not reported as
    /// duplicates.
    fn drop_at_tcp(&mut self, both: &Both) {
        let of = |name: &&'static str| {
            let packets = sum(both.receiving().filter_map(|end| grown(end, name)));
            (packets > 0).then_some((*name, packets))
        };
        let found: Vec<(&str, u64)> = TCP_DROPS.iter().filter_map(of).collect();
        if found.is_empty() {
            return;
        }
        let packets = sum(found.iter().map(|(_, packets)| *packets));
        let arrived_twice = self.retransmitted_in_vain();
        let unreported = arrived_twice.saturating_sub(self.reported.unwrap_or(0));
        let segments = unreported.max(packets).min(arrived_twice);
        let mut left = segments;
        for (place, (name, count)) in found.iter().enumerate() {
            let share = match place + 1 == found.len() {
                true => left,
                false => (segments as f64 * *count as f64 / packets as f64) as u64,
            };
            let share = share.min(left);
            left -= share;
            self.ledger.drops.push(Drops {
                by: "TCP at the receiving socket".to_owned(),
                counter: name.trim_start_matches("TcpExt."),
                packets: *count,
                segments: share,
                each: (share > *count).then_some(share as f64 / *count as f64),
            });
        }
        self.ledger.lost_segments = self.ledger.lost_segments.saturating_add(segments);
    }

    fn retransmitted_in_vain(&self) -> u64 {
        let all = self.ledger.retransmitted.unwrap_or(0);
        all.saturating_sub(self.ledger.lost_segments)
    }

    /// Says how much the senders retransmitted that had arrived, and why.
    fn explain(&mut self, both: &Both) {
        let has = |names: &[&str]| {
            let mut ends = both.sending();
            ends.any(|end| names.iter().any(|name| grown(end, name) > Some(0)))
        };
        let reasons = [
            (self.is_reordered, "segments arrived in another order"),
            (
                has(&["TcpExt.TCPTimeouts", "TcpExt.TCPSpuriousRTOs"]),
                "acknowledgements came after the retransmission timer had expired",
            ),
            (
                has(&["TcpExt.TCPLossProbes"]),
                "acknowledgements came after the timer of the tail loss probe had expired",
            ),
        ];
        let why = reasons.iter().find(|(holds, _)| *holds);
        let segments = self.retransmitted_in_vain();
        self.ledger.spurious = Some(Spurious {
            segments,
            reported: self.reported,
            why: why.map(|(_, why)| *why).filter(|_| segments > 0),
        });
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn positive(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}

/// Datagrams that the sockets of a part dropped.
fn socket_drops(whole: &WholeRun, part: usize) -> u64 {
    let [before, after] = [&whole.before, &whole.after]
        .map(|sample| sample.part(part).map_or_else(Vec::new, |part| part.sockets));
    let pairs = before.iter().zip(&after);
    sum(pairs.map(|(before, after)| u64::from(after.drops.wrapping_sub(before.drops))))
}
