//! The sockets of UDP streams, and how they are greeted.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use rustix::net::{SocketAddrAny, SocketFlags, SocketType, bind, connect, socket_with, sockopt};

const GREETING_BYTES: usize = 4;

/// What a client before 3.12 sends before the data of a stream, as machines of either byte order sent it.
const OLDER: [[u8; GREETING_BYTES]; 2] =
    [123_456_789_u32.to_le_bytes(), 123_456_789_u32.to_be_bytes()];

/// The server's answer to a greeting, which is no longer than that: as 3.12 gives it, or as versions before gave it.
pub fn answer(greeting: &[u8]) -> Option<[u8; GREETING_BYTES]> {
    let greeting = greeting.first_chunk::<GREETING_BYTES>()?;
    Some(match OLDER.contains(greeting) {
        true => 987_654_321_u32.to_le_bytes(),
        false => *b"6789",
    })
}

/// A datagram that came to the socket of another client.
pub type Misled = (SocketAddr, Vec<u8>);

/// A socket at this address; others of the same user may be bound to it, too. Calls do not block.
pub fn open(local: SocketAddr) -> io::Result<UdpSocket> {
    let family = SocketAddrAny::from(local).address_family();
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    bind(&socket, &local)?;
    Ok(socket.into())
}

/// A socket for one stream, connected to the client, and the datagrams of others that came to it
/// before it was connected.
pub fn open_stream(local: SocketAddr, peer: SocketAddr) -> io::Result<(UdpSocket, Vec<Misled>)> {
    let socket = open(local)?;
    connect(&socket, &peer)?;
    let mut misled = Vec::new();
    let mut buffer = [0; 64];
    while let Ok((length, from)) = socket.recv_from(&mut buffer) {
        if from != peer {
            misled.push((from, buffer[..length].to_vec()));
        }
    }
    Ok((socket, misled))
}

#[cfg(test)]
mod tests {
    use super::*;

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
