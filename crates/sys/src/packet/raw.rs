//! Opening, binding and configuring a packet socket.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::socket::{self, IntOption};

/// Length of `struct virtio_net_hdr` (linux/virtio_net.h).
pub const OFFLOAD_HEADER_BYTES: usize = 10;

/// The longest packet: its header, an Ethernet header with a VLAN tag, and 64 KiB.
pub const PACKET_MAX_BYTES: usize = OFFLOAD_HEADER_BYTES + 18 + 65_536;

const PACKET_VNET_HDR: IntOption = packet_option(libc::PACKET_VNET_HDR);

/// An option of packet sockets.
pub const fn packet_option(name: libc::c_int) -> IntOption {
    IntOption::new(libc::SOL_PACKET, name)
}

/// Every protocol, in network byte order as in an address.
pub const EVERY_PROTOCOL: u16 = (libc::ETH_P_ALL as u16).to_be();

/// A packet socket of the calling thread's network namespace that is not bound yet, so that it receives nothing.
pub fn open() -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers only.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given this descriptor, and nobody else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    socket::set_int(&socket, PACKET_VNET_HDR, 1)?;
    socket::set_int(&socket, socket::PACKET_IGNORE_OUTGOING, 1)?;
    Ok(socket)
}

/// Binds to a device; from now on frames of `protocol` are received, none where it is 0.
pub fn bind(socket: &OwnedFd, device_index: u32, protocol: u16) -> io::Result<()> {
    let address = address(device_index, protocol)?;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer and length describe `address`, which outlives the call.
    let result = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn address(device_index: u32, protocol: u16) -> io::Result<libc::sockaddr_ll> {
    // SAFETY: `sockaddr_ll` is integers only, so zero is valid.
    let mut address: libc::sockaddr_ll = unsafe { socket::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol;
    address.sll_ifindex = i32::try_from(device_index).map_err(|_| io::ErrorKind::InvalidInput)?;
    Ok(address)
}

/// Sets an option whose value is a structure.
///
/// # Safety
/// Pointers in `value` must be valid for the call.
pub unsafe fn set<T>(
    socket: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    let pointer = std::ptr::from_ref(value).cast();
    // SAFETY: the pointer and length describe `value`; the caller vouches for what is in it.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, pointer, length) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
