//! Sequence numbers of datagrams: the header that carries them, and what their order tells.

use crate::control::Phase;

/// Bytes of the header at the front of each message that has room for it: a mark and 56 bits of number.
pub const HEADER_BYTES: usize = 8;

const MARK: u8 = 0xB0;

/// The header of message `number`; it says whether the message belongs to the measured window.
pub fn header(phase: Phase, number: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = number.to_be_bytes();
    bytes[0] = MARK | u8::from(phase == Phase::Measured);
    bytes
}

/// The phase and the number of a header; nothing for what is not one of ours.
pub fn parse(bytes: &[u8]) -> Option<(Phase, u64)> {
    let mut header: [u8; HEADER_BYTES] = bytes.get(..HEADER_BYTES)?.try_into().ok()?;
    let phase = match header[0] {
        mark if mark == MARK => Phase::Warmup,
        mark if mark == MARK | 1 => Phase::Measured,
        _ => return None,
    };
    header[0] = 0;
    Some((phase, u64::from_be_bytes(header)))
}

/// Numbers that are remembered, so that a late datagram is told from a repeated one.
const WINDOW: u64 = 65_536;

/// What a new number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Later than all before.
    New,
    /// Missing until now.
    Reordered,
    /// Seen before.
    Repeated,
    /// So old that it cannot be told whether it was seen before.
    Late,
}

/// Remembers which numbers came.
pub struct Tracker {
    seen: Box<[u64]>,
    next: u64,
}

impl Default for Tracker {
    fn default() -> Tracker {
        Tracker { seen: vec![0; (WINDOW / 64) as usize].into_boxed_slice(), next: 0 }
    }
}

impl Tracker {
    /// Takes note of a number.
    #[inline]
    pub fn note(&mut self, number: u64) -> Arrival {
        if number >= self.next {
            self.advance_to(number);
            self.set(number);
            return Arrival::New;
        }
        if self.next - number > WINDOW {
            return Arrival::Late;
        }
        if self.has(number) {
            return Arrival::Repeated;
        }
        self.set(number);
        Arrival::Reordered
    }

    /// Forgets what leaves the window when `number` becomes the latest.
    #[inline]
    fn advance_to(&mut self, number: u64) {
        if number - self.next >= WINDOW {
            self.seen.fill(0);
        } else {
            for skipped in self.next..=number {
                self.seen[Self::word(skipped)] &= !Self::bit(skipped);
            }
        }
        self.next = number + 1;
    }

    #[inline]
    fn set(&mut self, number: u64) {
        self.seen[Self::word(number)] |= Self::bit(number);
    }

    fn has(&self, number: u64) -> bool {
        self.seen[Self::word(number)] & Self::bit(number) != 0
    }

    fn word(number: u64) -> usize {
        (number % WINDOW / 64) as usize
    }

    fn bit(number: u64) -> u64 {
        1 << (number % 64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_carries_phase_and_number() {
        assert_eq!(parse(&header(Phase::Measured, 123_456)), Some((Phase::Measured, 123_456)));
        assert_eq!(parse(&header(Phase::Warmup, 0)), Some((Phase::Warmup, 0)));
        assert_eq!(parse(&[crate::handshake::HELLO_MARK; 24]), None);
        assert_eq!(parse(&[MARK; 7]), None);
    }

    #[test]
    fn loss_reordering_and_duplicates_are_told_apart() {
        let mut tracker = Tracker::default();
        let arrivals: Vec<Arrival> = [0, 1, 3, 2, 3, 10, 2].into_iter().map(|n| tracker.note(n)).collect();
        use Arrival::{New, Reordered, Repeated};
        assert_eq!(arrivals, [New, New, New, Reordered, Repeated, New, Repeated]);
    }

    #[test]
    fn a_number_is_forgotten_when_the_window_has_passed() {
        let mut tracker = Tracker::default();
        tracker.note(0);
        tracker.note(WINDOW * 3 + 5);
        assert_eq!(tracker.note(5), Arrival::Late);
        assert_eq!(tracker.note(WINDOW * 2 + 6), Arrival::Reordered);
        assert_eq!(tracker.note(WINDOW * 3 + 4), Arrival::Reordered);
        assert_eq!(tracker.note(WINDOW * 3 + 4), Arrival::Repeated);
    }
}
