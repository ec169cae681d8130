//! Datagrams: the greeting of a stream, the header of data, and what is counted of their numbers.

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

/// The header of data: when it was sent, and its number, which begins at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The sender's clock in nanoseconds; its zero is unknown.
    pub sent_ns: u64,
    pub number: u64,
}

impl Header {
    /// Reads the header; absent for a datagram that is too short, and for the number 0.
    #[inline]
    pub fn read(datagram: &[u8], wide: bool) -> Option<Header> {
        let word = |at: usize| {
            let word = datagram.get(at..at + 4)?.first_chunk()?;
            Some(u64::from(u32::from_be_bytes(*word)))
        };
        let number = match wide {
            true => word(8)? << 32 | word(12)?,
            false => word(8)?,
        };
        let sent_ns = word(0)? * 1_000_000_000 + word(4)? * 1000;
        (number > 0).then_some(Header { sent_ns, number })
    }

    /// Writes the header to the front of a datagram of at least 16 bytes.
    #[inline]
    pub fn write(&self, datagram: &mut [u8], wide: bool) {
        let seconds = (self.sent_ns / 1_000_000_000) as u32;
        let micros = (self.sent_ns % 1_000_000_000 / 1000) as u32;
        datagram[..4].copy_from_slice(&seconds.to_be_bytes());
        datagram[4..8].copy_from_slice(&micros.to_be_bytes());
        match wide {
            true => datagram[8..16].copy_from_slice(&self.number.to_be_bytes()),
            false => datagram[8..12].copy_from_slice(&(self.number as u32).to_be_bytes()),
        }
    }
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
    fn header_is_read_as_it_was_written() {
        let mut datagram = [0; 20];
        for (wide, number) in [(false, 7), (true, 1 << 33)] {
            let header = Header {
                sent_ns: 5_000_001_000,
                number,
            };
            header.write(&mut datagram, wide);
            assert_eq!(Header::read(&datagram, wide), Some(header));
        }
        assert_eq!(Header::read(&datagram[..11], false), None);
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
