//! Datagram sockets for ICMP echo, which need no privilege where `net.ipv4.ping_group_range` includes a group of the caller
//! (icmp(7), since Linux 3.0 for IPv4 and 3.11 for IPv6).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv, send,
    socket_with,
};

/// `ICMP_ECHO` and `ICMP_ECHOREPLY`, `ICMPV6_ECHO_REQUEST` and `ICMPV6_ECHO_REPLY`.
const V4: [u8; 2] = [8, 0];
const V6: [u8; 2] = [128, 129];
/// Bytes of an echo header: type, code, checksum, identifier, sequence number.
const HEADER_BYTES: usize = 8;

/// A socket that sends echo requests to one address and gets the replies to them.
#[derive(Debug)]
pub struct EchoSocket {
    socket: OwnedFd,
    kinds: [u8; 2],
}

impl EchoSocket {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// `EACCES` where the caller's groups may not ping.
    pub fn open(to: IpAddr) -> io::Result<EchoSocket> {
        let (family, protocol, kinds) = match to {
            IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP, V4),
            IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6, V6),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(protocol))?;
        connect(&socket, &SocketAddr::new(to, 0))?;
        Ok(EchoSocket { socket, kinds })
    }

    /// Sends an echo request with this sequence number and `data_bytes` bytes of data. The kernel fills in checksum and identifier.
    pub fn send(&self, sequence: u16, data_bytes: usize) -> io::Result<()> {
        let mut packet = vec![0; HEADER_BYTES + data_bytes];
        packet[0] = self.kinds[0];
        packet[6..8].copy_from_slice(&sequence.to_be_bytes());
        send(&self.socket, &packet, SendFlags::empty())?;
        Ok(())
    }

    /// The sequence number of the next reply; absent where none is queued.
    ///
    /// # Errors
    /// What a router or host on the path reports, such as `EHOSTUNREACH`.
    pub fn receive(&self) -> io::Result<Option<u16>> {
        let mut packet = [0; HEADER_BYTES];
        match recv(&self.socket, &mut packet[..], RecvFlags::TRUNC) {
            Ok((kept, _)) if kept == HEADER_BYTES && packet[0] == self.kinds[1] => {
                Ok(Some(u16::from_be_bytes([packet[6], packet[7]])))
            }
            Ok(_) | Err(rustix::io::Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for EchoSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
