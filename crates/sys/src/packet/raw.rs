//! Opening, binding and configuring a packet socket.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::outcome::checked;
use crate::socket::{self, IntOption};

/// Length of `struct virtio_net_hdr` (linux/virtio_net.h).
pub const OFFLOAD_HEADER_BYTES: usize = 10;

/// The longest packet: its header, an Ethernet header with a VLAN tag, and 64 KiB.
pub const PACKET_MAX_BYTES: usize = OFFLOAD_HEADER_BYTES + 18 + 65_536;

const PACKET_VNET_HDR: IntOption = IntOption(libc::SOL_PACKET, libc::PACKET_VNET_HDR);

/// Every protocol, in network byte order as in an address.
pub const EVERY_PROTOCOL: u16 = (libc::ETH_P_ALL as u16).to_be();

/// A packet socket of the calling thread's network namespace that is not bound yet, so that it receives nothing.
pub fn open() -> io::Result<OwnedFd> {
    let (family, flags) = (AddressFamily::PACKET, SocketFlags::CLOEXEC);
    let socket = socket_with(family, SocketType::RAW, flags, None)?;
    socket::set_int(&socket, PACKET_VNET_HDR, 1)?;
    socket::set_int(&socket, socket::PACKET_IGNORE_OUTGOING, 1)?;
    Ok(socket)
}

/// Binds to a device; from now on frames of `protocol` are received, none where it is 0.
pub fn bind(socket: &OwnedFd, device_index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: `sockaddr_ll` is integers only, so zero is valid.
    let mut address: libc::sockaddr_ll = unsafe { socket::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol;
    address.sll_ifindex = i32::try_from(device_index).map_err(|_| io::ErrorKind::InvalidInput)?;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer and length describe `address`, which outlives the call.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(())
}
