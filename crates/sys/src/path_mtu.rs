//! Which hop of a path carries less than the sender's interface does (ip(7), ipv6(7)).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::Duration;

use rustix::net::RecvFlags;

use crate::control;
use crate::process::wait_readable;
use crate::socket::{IP_MTU_DISCOVER, IP_RECVERR, IPV6_MTU_DISCOVER, IPV6_RECVERR, set_int};

/// The port of the discard service (RFC 863): at most a host says that nothing listens there.
const DISCARD: u16 = 9;

/// The longest round trip to a hop whose answer is awaited.
const PATIENCE: Duration = Duration::from_millis(300);

/// An error with who reported it, as the kernel queues them.
#[derive(Clone, Copy)]
#[repr(C)]
struct Reported<T> {
    error: libc::sock_extended_err,
    by: T,
}

/// The hop that answers that a packet of so many bytes, IP header included, is too large for it; absent where none does.
///
/// # Errors
/// Those of the socket.
pub fn narrow_hop(to: IpAddr, packet_bytes: u32) -> io::Result<Option<IpAddr>> {
    let (any, discover, errors, header): (IpAddr, _, _, u32) = match to {
        IpAddr::V4(_) => (
            Ipv4Addr::UNSPECIFIED.into(),
            IP_MTU_DISCOVER,
            IP_RECVERR,
            28,
        ),
        IpAddr::V6(_) => (
            Ipv6Addr::UNSPECIFIED.into(),
            IPV6_MTU_DISCOVER,
            IPV6_RECVERR,
            48,
        ),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((to, DISCARD))?;
    // Neither what is known of the path nor fragments help this packet.
    set_int(&socket, discover, libc::IP_PMTUDISC_PROBE)?;
    set_int(&socket, errors, 1)?;
    socket.send(&vec![0; packet_bytes.saturating_sub(header) as usize])?;
    if !wait_readable(&socket, PATIENCE)? {
        return Ok(None);
    }
    let mut hop = None;
    control::receive(&socket, &mut [], RecvFlags::ERRQUEUE, |said| {
        let is_large = |error: libc::sock_extended_err| error.ee_errno == libc::EMSGSIZE as u32;
        if said.kind == libc::IP_RECVERR && said.level == libc::SOL_IP {
            // SAFETY: the structure is integers only.
            let reported = unsafe { said.value::<Reported<libc::sockaddr_in>>() };
            let reported = reported.filter(|one| is_large(one.error));
            hop = reported.map(|one| Ipv4Addr::from_bits(one.by.sin_addr.s_addr.to_be()).into());
        } else if said.kind == libc::IPV6_RECVERR && said.level == libc::SOL_IPV6 {
            // SAFETY: the structure is integers only.
            let reported = unsafe { said.value::<Reported<libc::sockaddr_in6>>() };
            let reported = reported.filter(|one| is_large(one.error));
            hop = reported.map(|one| Ipv6Addr::from(one.by.sin6_addr.s6_addr).into());
        }
    })?;
    Ok(hop)
}
