//! The sums of the ledger, and the ledger as a sentence.

use std::fmt;

use bitcost_model::units::counted;
use serde::Serialize;

use super::drops::Drops;
use super::readings::sum;

/// The number of lost or retransmitted packets up to which the ledger may be wrong by one packet.
const FEW: u64 = 100;

/// The share of the lost or retransmitted packets that may stay unexplained where they are more.
const SHARE: f64 = 0.01;

/// Causes that the sentence names; the table has all.
const NAMED: usize = 2;

/// Segments that were retransmitted although the first copy arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spurious {
    /// Those that were retransmitted less those that were lost.
    pub segments: u64,
    /// Duplicates that receivers reported to the senders (DSACK, RFC 2883); absent where the kernel
    /// does not count them.
    pub reported: Option<u64>,
    /// Why TCP retransmitted them, where a counter tells.
    pub why: Option<&'static str>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LossLedger {
    /// TCP segments with data, and UDP datagrams, that were sent at both ends together.
    pub sent: u64,
    /// Copies that were made of them on the way.
    pub copies: u64,
    /// Those of both that reached the socket of the other end and were taken by it.
    pub delivered: u64,
    pub lost_segments: u64,
    pub lost_datagrams: u64,
    /// Segments that TCP retransmitted; absent where the run has no TCP.
    pub retransmitted: Option<u64>,
    /// Those of them that were not needed.
    pub spurious: Option<Spurious>,
    /// What dropped the lost ones, in the order of the way; only counters that are not 0.
    #[serde(rename = "dropped")]
    pub drops: Vec<Drops>,
}

impl LossLedger {
    pub fn lost(&self) -> u64 {
        self.lost_segments.saturating_add(self.lost_datagrams)
    }

    /// The lost packets of which no counter tells; below 0 where counters have more than were lost,
    /// which may be packets of others.
    pub fn unexplained(&self) -> i64 {
        let named = sum(self.drops.iter().map(|drops| drops.segments));
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        signed(self.lost()) - signed(named)
    }

    /// The number of unexplained packets up to which the ledger closes: 1 % of those that were lost
    /// or retransmitted where these are more than 100, and 1 otherwise; in addition half a packet for
    /// each counter of packets with several segments.
    pub fn tolerance(&self) -> f64 {
        let base = self.lost().max(self.retransmitted.unwrap_or(0));
        let share = if base > FEW { SHARE * base as f64 } else { 1.0 };
        let each = self.drops.iter().filter_map(|drops| drops.each);
        share + each.map(|each| each / 2.0).sum::<f64>()
    }

    /// True where what is unexplained is within the tolerance.
    pub fn closes(&self) -> bool {
        self.unexplained().unsigned_abs() as f64 <= self.tolerance()
    }

    pub fn has_any(&self) -> bool {
        self.lost() > 0 || self.retransmitted.is_some_and(|count| count > 0)
    }
}

/// `87 segments were retransmitted: none was lost, all were spurious: segments arrived in another
/// order`; empty where nothing was lost or retransmitted.
impl fmt::Display for LossLedger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.has_any() {
            return Ok(());
        }
        let retransmitted = self.retransmitted.unwrap_or(0).max(self.lost_segments);
        let mut subjects = Vec::new();
        if retransmitted > 0 {
            subjects.push(were(retransmitted, "segment", "retransmitted"));
        }
        if self.lost_datagrams > 0 {
            subjects.push(were(self.lost_datagrams, "datagram", "lost"));
        }
        let mut causes = Vec::new();
        let mut drops: Vec<&Drops> = self.drops.iter().collect();
        // What a socket drops is surely of this run.
        let is_shared = |row: &Drops| !row.counter.starts_with("sk_drops");
        drops.sort_by_key(|row| (is_shared(row), std::cmp::Reverse(row.segments)));
        let all = retransmitted.saturating_add(self.lost_datagrams);
        let part = |count: u64| match count {
            1 if all == 1 => String::new(),
            count if count == all => "all ".to_owned(),
            count => format!("{count} "),
        };
        // Counters may have more than were lost, such as packets of others.
        let mut left = self.lost();
        let mut taken = |count: u64| {
            let count = count.min(left);
            left -= count;
            count
        };
        for row in drops.iter().take(NAMED) {
            let count = taken(row.segments);
            if count > 0 {
                causes.push(format!("{}dropped by {}", part(count), row.by));
            }
        }
        let others = taken(sum(drops.iter().skip(NAMED).map(|row| row.segments)));
        if others > 0 {
            causes.push(format!("{others} dropped elsewhere"));
        }
        if left > 0 {
            let count = part(left);
            causes.push(format!("{count}lost at a place that no counter shows"));
        }
        if let Some(spurious) = self.spurious.as_ref().filter(|found| found.segments > 0) {
            let none = match self.lost_segments {
                0 if all > 1 => "none lost, ",
                _ => "",
            };
            let why = spurious
                .why
                .map_or(String::new(), |why| format!(" ({why})"));
            causes.push(format!("{none}{}spurious{why}", part(spurious.segments)));
        }
        let (subjects, causes) = (subjects.join(" and "), causes.join(", "));
        write!(formatter, "{subjects}: {causes}")
    }
}

fn were(count: u64, word: &str, what: &str) -> String {
    let verb = if count == 1 { "was" } else { "were" };
    format!("{} {verb} {what}", counted(count as usize, word))
}
