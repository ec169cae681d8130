//! Counters of the packets of one direction, by what happened to them.

use bitcost_model::counters::{Amount, LinkEmulator};

use crate::emulator::lateness::Lateness;

/// Counters of one direction since the emulator's start.
#[derive(Clone, Debug, Default)]
pub struct Counters {
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
    pub fn reading(&self, device: &str, cpu_ns: u64, rate_bps: Option<u64>) -> LinkEmulator {
        LinkEmulator {
            device: device.to_owned(),
            arrived: self.arrived,
            departed: self.departed,
            lost: self.lost,
            overflowed: self.overflowed,
            duplicated: self.duplicated,
            refused: self.refused,
            missed_packets: self.missed_packets,
            cpu_ns,
            rate_bps,
            late: self.lateness.buckets(),
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
