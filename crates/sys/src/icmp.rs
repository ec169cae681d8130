//! Sockets for ICMP echo: datagram sockets, which need no privilege where `net.ipv4.ping_group_range` includes a group of the
//! caller (icmp(7), since Linux 3.0 for IPv4 and 3.11 for IPv6), otherwise raw ones, which need `CAP_NET_RAW` (raw(7)).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv, send,
    socket_with,
};

/// `ICMP_ECHO` and `ICMP_ECHOREPLY`, `ICMPV6_ECHO_REQUEST` and `ICMPV6_ECHO_REPLY`.
const V4: [u8; 2] = [8, 0];
const V6: [u8; 2] = [128, 129];
/// Bytes of an echo header: type, code, checksum, identifier, sequence number.
const HEADER_BYTES: usize = 8;
/// The longest header of IPv4, which is in front of what a raw socket receives.
const IPV4_HEADER_BYTES_MAX: usize = 60;

/// A socket that sends echo requests to one address and gets the replies to them.
#[derive(Debug)]
pub struct EchoSocket {
    socket: OwnedFd,
    kinds: [u8; 2],
    /// The identifier of the requests of a raw socket, which gets all of ICMP that its destination sends. A datagram socket gets
    /// its identifier from the kernel.
    identifier: Option<[u8; 2]>,
}

impl EchoSocket {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// `EACCES` where the caller's groups may not ping, and the caller may not open a raw socket.
    pub fn open(to: IpAddr) -> io::Result<EchoSocket> {
        let (family, protocol, kinds) = match to {
            IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP, V4),
            IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6, V6),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let of_type = |kind| socket_with(family, kind, flags, Some(protocol));
        let (socket, identifier) = match of_type(SocketType::DGRAM) {
            Err(refused @ Errno::ACCESS) => {
                let socket = of_type(SocketType::RAW).map_err(|_| refused)?;
                (
                    socket,
                    Some((crate::thread::thread_id() as u16).to_be_bytes()),
                )
            }
            opened => (opened?, None),
        };
        connect(&socket, &SocketAddr::new(to, 0))?;
        Ok(EchoSocket {
            socket,
            kinds,
            identifier,
        })
    }

    /// Sends an echo request with this sequence number and `data_bytes` bytes of data. The kernel fills in checksum and identifier;
    /// not for raw sockets of IPv4, and the identifier for no raw socket.
    pub fn send(&self, sequence: u16, data_bytes: usize) -> io::Result<()> {
        let mut packet = vec![0; HEADER_BYTES + data_bytes];
        packet[0] = self.kinds[0];
        packet[6..8].copy_from_slice(&sequence.to_be_bytes());
        if let Some(identifier) = self.identifier {
            packet[4..6].copy_from_slice(&identifier);
            let sum = checksum(&packet[..HEADER_BYTES]);
            packet[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        send(&self.socket, &packet, SendFlags::empty())?;
        Ok(())
    }

    /// The sequence number of the next reply; absent where none is queued.
    ///
    /// # Errors
    /// What a router or host on the path reports, such as `EHOSTUNREACH`.
    pub fn receive(&self) -> io::Result<Option<u16>> {
        let mut packet = [0; IPV4_HEADER_BYTES_MAX + HEADER_BYTES];
        let kept = match recv(&self.socket, &mut packet[..], RecvFlags::empty()) {
            Ok((kept, _)) => kept,
            Err(Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let has_ip_header = self.identifier.is_some() && self.kinds == V4;
        let ip_bytes = match has_ip_header {
            // Its length is counted in words of four bytes.
            true => usize::from(packet[0] & 0x0f) * 4,
            false => 0,
        };
        let reply = packet[..kept].get(ip_bytes..ip_bytes + HEADER_BYTES);
        let ours = reply.filter(|reply| {
            let is_ours = |identifier| reply[4..6] == identifier;
            reply[0] == self.kinds[1] && self.identifier.is_none_or(is_ours)
        });
        Ok(ours.map(|reply| u16::from_be_bytes([reply[6], reply[7]])))
    }
}

/// The checksum of an echo request whose data are zero (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2);
    let sum: u32 = words
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

impl AsFd for EchoSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
