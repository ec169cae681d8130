//! Counters of the packets of one direction, by what happened to them.

use serde::{Deserialize, Serialize};

use crate::emulator::lateness::Lateness;
use crate::emulator::size::Size;

/// Packets, their segments, and their bytes with all headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Packets; a super-packet is one.
    pub packets: u64,
    /// Their segments on the link.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Amount {
    /// Counts a packet of this size.
    pub fn count(&mut self, size: Size) {
        self.packets += 1;
        self.segments += u64::from(size.segments);
        self.bytes += size.bytes;
    }

    pub(crate) fn remove(&mut self, size: Size) {
        self.packets -= 1;
        self.segments -= u64::from(size.segments);
        self.bytes -= size.bytes;
    }

    fn since(&self, before: &Amount) -> Amount {
        Amount {
            packets: self.packets.saturating_sub(before.packets),
            segments: self.segments.saturating_sub(before.segments),
            bytes: self.bytes.saturating_sub(before.bytes),
        }
    }
}

/// Counters of one direction since the emulator's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Arrived.
    pub arrived: Amount,
    /// Forwarded.
    pub departed: Amount,
    /// Dropped by random loss, as requested.
    pub lost: Amount,
    /// Dropped because of the queue limit.
    pub overflowed: Amount,
    /// Copies that were made, as requested.
    pub duplicated: Amount,
    /// Dropped because the kernel refused to send: a fault of the emulation.
    pub refused: Amount,
    /// Packets that arrived faster than the emulator read them: a fault of the emulation.
    pub missed_packets: u64,
    /// How long after its due time each packet departed.
    pub lateness: Lateness,
}

impl Counters {
    /// The counters as words, in the order of the fields; `cpu_ns` and the rate of the direction (0
    /// without one) are before the lateness, which is pairs `bound:packets` with an upper bound in ns.
    pub fn words(&self, cpu_ns: u64, rate_bps: Option<u64>) -> String {
        let Counters {
            arrived,
            departed,
            lost,
            overflowed,
            duplicated,
            refused,
            missed_packets,
            lateness,
        } = self;
        let amounts = [arrived, departed, lost, overflowed, duplicated, refused];
        let mut words: Vec<String> = Vec::new();
        for Amount {
            packets,
            segments,
            bytes,
        } in amounts
        {
            words.extend([packets, segments, bytes].map(u64::to_string));
        }
        let last = [*missed_packets, cpu_ns, rate_bps.unwrap_or(0)];
        words.extend(last.map(|count| count.to_string()));
        let late: Vec<(u64, u64)> = lateness.clone().into();
        words.extend(
            late.iter()
                .map(|(bound, packets)| format!("{bound}:{packets}")),
        );
        words.join(" ")
    }

    /// The difference from `before`, an earlier state of the same counters.
    pub fn since(&self, before: &Counters) -> Counters {
        Counters {
            arrived: self.arrived.since(&before.arrived),
            departed: self.departed.since(&before.departed),
            lost: self.lost.since(&before.lost),
            overflowed: self.overflowed.since(&before.overflowed),
            duplicated: self.duplicated.since(&before.duplicated),
            refused: self.refused.since(&before.refused),
            missed_packets: self.missed_packets.saturating_sub(before.missed_packets),
            lateness: self.lateness.since(&before.lateness),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_the_order_of_the_fields() {
        let mut counters = Counters {
            missed_packets: 4,
            ..Counters::default()
        };
        counters.arrived.count(Size {
            segments: 2,
            bytes: 3,
        });
        counters.lateness.record(1100, 5);
        assert_eq!(
            counters.words(9, Some(8)),
            "1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 4 9 8 1125:5"
        );
    }
}
