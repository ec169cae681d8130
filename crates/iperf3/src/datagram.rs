//! Datagrams: the greeting of a stream, the header of data, and what is counted of their numbers.

pub use bitcost_traffic::iperf3::Header;
use bitcost_traffic::{Arrival, Tracker};

pub const GREETING_BYTES: usize = 4;

/// What a client sends before the data of a stream: since 3.12, and before; each also as machines
/// of the other byte order sent it.
pub const GREETINGS: [[u8; GREETING_BYTES]; 4] = [
    *b"9876",
    *b"6789",
    123_456_789_u32.to_le_bytes(),
    123_456_789_u32.to_be_bytes(),
];

/// The server's answer to [`GREETINGS`]: to the first form as 3.12 gives it, to the older one as
/// versions before gave it.
pub fn answer(greeting: &[u8]) -> Option<[u8; GREETING_BYTES]> {
    let greeting = greeting.first_chunk::<GREETING_BYTES>()?;
    let older = &GREETINGS[2..];
    Some(match older.contains(greeting) {
        true => 987_654_321_u32.to_le_bytes(),
        false => *b"6789",
    })
}

/// The most by which a number may be ahead: beyond, the datagram is not of this stream.
const FARTHEST: u64 = 1 << 40;

/// What a receiver counts of a stream. A duplicate does not make up for a lost datagram.
#[derive(Default)]
pub struct Arrivals {
    tracker: Tracker,
    pub highest: u64,
    pub distinct: u64,
    pub reordered: u64,
    /// RFC 3550's estimate, in nanoseconds; absent before the second datagram.
    pub jitter_ns: Option<f64>,
    transit_ns: Option<i128>,
}

impl Arrivals {
    /// Counts a datagram that came at this time of the receiver's clock; false: it is foreign.
    #[inline]
    pub fn note(&mut self, header: Header, now_ns: u64) -> bool {
        if header.number > self.highest.saturating_add(FARTHEST) || header.number > 1 << 62 {
            return false;
        }
        match self.tracker.note(header.number) {
            Arrival::New => {
                self.highest = header.number;
                self.distinct += 1;
            }
            Arrival::Reordered | Arrival::Late => {
                self.reordered += 1;
                self.distinct += 1;
            }
            Arrival::Repeated => {}
        }
        let transit = i128::from(now_ns) - i128::from(header.sent_ns);
        if let Some(before) = self.transit_ns.replace(transit) {
            let change = (transit - before).unsigned_abs() as f64;
            let jitter = self.jitter_ns.unwrap_or(0.0);
            self.jitter_ns = Some(jitter + (change - jitter) / 16.0);
        }
        true
    }

    /// Datagrams that were skipped and never came.
    pub fn lost(&self) -> u64 {
        self.highest.saturating_sub(self.distinct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_does_not_hide_a_loss() {
        let mut arrivals = Arrivals::default();
        for number in [1, 2, 2, 5, 4] {
            assert!(arrivals.note(Header { sent_ns: 0, number }, 0));
        }
        assert_eq!(
            (arrivals.lost(), arrivals.reordered, arrivals.highest),
            (1, 1, 5)
        );
        assert!(!arrivals.note(
            Header {
                sent_ns: 0,
                number: u64::MAX
            },
            0
        ));
    }

    #[test]
    fn both_greetings_have_their_answers() {
        assert_eq!(answer(b"9876"), Some(*b"6789"));
        assert_eq!(
            answer(&[0x15, 0xcd, 0x5b, 0x07]),
            Some([0xb1, 0x68, 0xde, 0x3a])
        );
        assert_eq!(answer(b"987"), None);
    }
}
