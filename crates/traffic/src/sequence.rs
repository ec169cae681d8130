//! Sequence numbers of datagrams: the header that carries them, and loss, order and duplicates.

use bitcost_model::protocol::Peer;

use crate::control::Phase;
use crate::handshake::Token;
use crate::iperf3;
use crate::workload::Run;

/// Bytes of the header at the front of each message that is long enough: a mark with the phase, 16
/// bits of the run's token, and a number of 40 bits. At 300 million datagrams per second the
/// numbers last for an hour.
pub const HEADER_BYTES: usize = 8;

const MARK: u64 = 0xB0 << 56;
const MEASURED: u64 = 1 << 56;
const NUMBER: u64 = (1 << 40) - 1;

/// Distinguishes the datagrams of one run from all others, by bytes of its token.
#[derive(Clone, Copy, Debug)]
pub struct Tag {
    front: u64,
    /// The first bytes of a message that is too short for a header.
    short: [u8; HEADER_BYTES - 1],
    /// True where the headers are iperf3's, which have no phase.
    is_iperf3: bool,
    is_wide: bool,
}

impl Tag {
    pub fn of(token: &Token) -> Tag {
        let [first, second, short @ .., _, _, _, _, _, _, _] = *token;
        Tag {
            front: MARK | u64::from(u16::from_be_bytes([first, second])) << 40,
            short,
            is_iperf3: false,
            is_wide: false,
        }
    }

    pub fn of_run(run: &Run) -> Tag {
        Tag {
            is_iperf3: run.peer == Peer::Iperf3,
            is_wide: run.is_wide,
            ..Tag::of(run.token)
        }
    }

    pub fn is_iperf3(&self) -> bool {
        self.is_iperf3
    }

    /// The header of a datagram of iperf3.
    #[inline]
    pub fn of_iperf3(&self, datagram: &[u8]) -> Option<iperf3::Header> {
        iperf3::Header::read(datagram, self.is_wide)
    }

    /// The header of message `number`; it says whether the message belongs to the measured window.
    #[inline]
    pub fn header(&self, phase: Phase, number: u64) -> [u8; HEADER_BYTES] {
        let measured = if phase == Phase::Measured {
            MEASURED
        } else {
            0
        };
        (self.front | measured | number & NUMBER).to_be_bytes()
    }

    /// Writes the header of message `number` to its front, or bytes of the token where it is too
    /// short for a header.
    #[inline]
    pub fn write(&self, message: &mut [u8], phase: Phase, number: u64) {
        if self.is_iperf3 {
            return iperf3::Header::now(number).write(message, self.is_wide);
        }
        match message.first_chunk_mut() {
            Some(front) => *front = self.header(phase, number),
            None => message.copy_from_slice(&self.short[..message.len()]),
        }
    }

    /// The phase and the number of a message with a header; absent for a datagram that is not of
    /// this run.
    #[inline]
    pub fn parse(&self, datagram: &[u8]) -> Option<(Phase, u64)> {
        let header = u64::from_be_bytes(*datagram.first_chunk()?);
        let phase = match (header ^ self.front) & !NUMBER {
            0 => Phase::Warmup,
            MEASURED => Phase::Measured,
            _ => return None,
        };
        Some((phase, header & NUMBER))
    }

    /// The first bytes of a message that is too short for a header, at most seven.
    #[inline]
    pub fn short(&self, length: usize) -> &[u8] {
        &self.short[..length]
    }
}

/// Numbers that are remembered, so that reordered datagrams are distinguished from duplicates.
const WINDOW: u64 = 262_144;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    New,
    Reordered,
    Repeated,
    /// So old that it is unknown whether it was received before.
    Late,
}

pub struct Tracker {
    seen: Box<[u64]>,
    next: u64,
}

impl Default for Tracker {
    fn default() -> Tracker {
        Tracker {
            seen: vec![0; (WINDOW / 64) as usize].into_boxed_slice(),
            next: 0,
        }
    }
}

impl Tracker {
    /// One more than the highest number.
    pub fn next(&self) -> u64 {
        self.next
    }

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

    /// Forgets numbers that leave the window when `number` becomes the latest.
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
