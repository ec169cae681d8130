//! What data connections with an iperf3 server begin with (iperf3's `iperf_tcp.c`, `iperf_udp.c`,
//! `iperf_util.c`), and the header of its datagrams.

use std::io;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use bitcost_sys::clock::monotonic_ns;
use bitcost_sys::socket::is_passing;

use crate::handshake::{Token, time_left};

/// Bytes of a cookie: 36 characters and a NUL.
pub const COOKIE_BYTES: usize = 37;

const CHARACTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The cookie of a run, by which an iperf3 server knows the connections of one test.
pub fn cookie(token: &Token) -> [u8; COOKIE_BYTES] {
    let bits = u128::from_be_bytes(*token);
    let mut cookie = [0; COOKIE_BYTES];
    for (index, character) in cookie[..COOKIE_BYTES - 1].iter_mut().enumerate() {
        // 128 bits are 26 characters; the others repeat the first ones.
        let five = (bits >> (5 * (index % 26))) & 31;
        *character = CHARACTERS[five as usize];
    }
    cookie
}

/// The datagram that asks for a UDP stream; a little-endian host that runs iperf3 sends these bytes.
const GREETING: [u8; 4] = *b"9876";

/// Answers of the versions of iperf3: from 3.12 on, those on big-endian hosts, and older ones.
const ANSWERS: [[u8; 4]; 4] = [
    *b"6789",
    *b"9876",
    987_654_321_u32.to_le_bytes(),
    987_654_321_u32.to_be_bytes(),
];

/// Asks for a UDP stream and waits for the answer. The greeting is sent once: a second one would be
/// taken for data.
///
/// # Errors
/// `ETIMEDOUT`, when no answer comes, and those of the socket.
pub fn greet(socket: &UdpSocket, patience: Duration) -> io::Result<()> {
    let deadline = Instant::now() + patience;
    socket.send(&GREETING)?;
    let mut datagram = [0; 64];
    loop {
        socket.set_read_timeout(Some(time_left(deadline)?))?;
        match socket.recv(&mut datagram) {
            Ok(4) if ANSWERS.iter().any(|answer| datagram[..4] == *answer) => return Ok(()),
            Ok(_) => {}
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The highest number: beyond, a datagram is of no stream.
const MOST: u64 = 1 << 62;

/// The header of a datagram: when it was sent, and its number, which begins at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The sender's clock in nanoseconds; its zero is unknown.
    pub sent_ns: u64,
    pub number: u64,
}

impl Header {
    /// The header of message `number`, counted from 0, with the present time.
    #[inline]
    pub fn now(number: u64) -> Header {
        Header {
            sent_ns: monotonic_ns(),
            number: number + 1,
        }
    }

    /// Reads the header, whose number has 64 bits where it is `wide`; absent for a datagram that is too short, and for a
    /// number that none has.
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
        (1..MOST)
            .contains(&number)
            .then_some(Header { sent_ns, number })
    }

    /// Writes the header to the front of a datagram; nothing where it is too short.
    #[inline]
    pub fn write(&self, datagram: &mut [u8], wide: bool) {
        let Some(header) = datagram.get_mut(..if wide { 16 } else { 12 }) else {
            return;
        };
        let us = self.sent_ns / 1000;
        header[..4].copy_from_slice(&((us / 1_000_000) as u32).to_be_bytes());
        header[4..8].copy_from_slice(&((us % 1_000_000) as u32).to_be_bytes());
        match wide {
            true => header[8..].copy_from_slice(&self.number.to_be_bytes()),
            false => header[8..].copy_from_slice(&(self.number as u32).to_be_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookie_has_iperf3s_characters_and_depends_on_the_whole_token() {
        let (one, mut other) = ([7; 16], [7; 16]);
        other[0] = 8;
        let cookie_of_one = cookie(&one);
        assert_ne!(cookie_of_one, cookie(&other));
        assert_eq!(cookie_of_one[36], 0);
        assert!(cookie_of_one[..36].iter().all(|c| CHARACTERS.contains(c)));
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
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
        assert_eq!(Header::now(0).number, 1);
    }
}
