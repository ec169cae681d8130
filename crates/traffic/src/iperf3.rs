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

/// Bytes of a datagram's header: seconds and microseconds of the sender's clock, and a number that
/// counts from 1.
pub const HEADER_BYTES: usize = 12;

/// Writes the header of message `number`, counted from 0, with the present time.
#[inline]
pub fn write_header(message: &mut [u8], number: u64) {
    let Some(header) = message.first_chunk_mut::<HEADER_BYTES>() else {
        return;
    };
    let us = monotonic_ns() / 1000;
    header[..4].copy_from_slice(&((us / 1_000_000) as u32).to_be_bytes());
    header[4..8].copy_from_slice(&((us % 1_000_000) as u32).to_be_bytes());
    header[8..].copy_from_slice(&(number as u32).wrapping_add(1).to_be_bytes());
}

/// The number of a datagram, counted from 0; absent for one that is too short, or has number 0.
#[inline]
pub fn number(datagram: &[u8]) -> Option<u64> {
    let header = datagram.first_chunk::<HEADER_BYTES>()?;
    let number = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
    u64::from(number).checked_sub(1)
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
    fn headers_count_from_one() {
        let mut message = [0; 16];
        write_header(&mut message, 0);
        assert_eq!((message[11], number(&message)), (1, Some(0)));
        write_header(&mut message, 70_000);
        assert_eq!(number(&message), Some(70_000));
        assert_eq!((number(&[0; 16]), number(&[1; 11])), (None, None));
    }
}
