//! Counters of the packets of one direction, by what happened to them.

use bitcost_model::counters::{self, LinkEmulator};
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
    /// What a reading of a run has of them.
    pub fn reading(&self, device: &str, cpu_ns: u64, rate_bps: Option<u64>) -> LinkEmulator {
        let amount = |of: Amount| counters::Amount {
            packets: of.packets,
            segments: of.segments,
            bytes: of.bytes,
        };
        LinkEmulator {
            device: device.to_owned(),
            arrived: amount(self.arrived),
            departed: amount(self.departed),
            lost: amount(self.lost),
            overflowed: amount(self.overflowed),
            duplicated: amount(self.duplicated),
            refused: amount(self.refused),
            missed_packets: self.missed_packets,
            cpu_ns,
            rate_bps,
            late: self.lateness.clone().into(),
        }
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
    fn reading_has_each_counter_in_its_place() {
        let amount = |packets| Amount {
            packets,
            segments: packets + 10,
            bytes: packets + 20,
        };
        let counters = Counters {
            arrived: amount(1),
            departed: amount(2),
            lost: amount(3),
            overflowed: amount(4),
            duplicated: amount(5),
            refused: amount(6),
            missed_packets: 7,
            lateness: Lateness::default(),
        };
        let of = counters.reading("s1-eth1", 8, Some(9));
        let amounts = [
            of.arrived,
            of.departed,
            of.lost,
            of.overflowed,
            of.duplicated,
            of.refused,
        ];
        let packets = amounts.map(|amount| amount.packets);
        assert_eq!(packets, [1, 2, 3, 4, 5, 6]);
        assert_eq!((of.lost.segments, of.lost.bytes), (13, 23));
        assert_eq!((of.missed_packets, of.cpu_ns, of.rate_bps), (7, 8, Some(9)));
    }
}
