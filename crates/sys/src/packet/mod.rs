//! Frames of a device with their offload headers, whole: super-packets stay what they are (packet(7), `PACKET_VNET_HDR`).
//!
//! | file | it is |
//! |---|---|
//! | ring | received frames in memory that is shared with the kernel |
//! | outlet | many frames sent by one call |
//! | plain | one frame a call, either way |
//!
//! A *packet* here is an offload header of [`OFFLOAD_HEADER_BYTES`] (`struct virtio_net_hdr`) and the frame behind it. What
//! was received can be sent as it is: checksums that are not made yet and segments that are not cut yet stay so.

mod outlet;
mod plain;
mod ring;

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::socket::{self, IntOption};

pub use outlet::{BATCH, Outlet};
pub use plain::Plain;
pub use ring::{Lengths, Ring};

/// Length of `struct virtio_net_hdr` (linux/virtio_net.h).
pub const OFFLOAD_HEADER_BYTES: usize = 10;

/// The longest packet: its header, an Ethernet header with a VLAN tag, and 64 KiB.
pub const PACKET_MAX_BYTES: usize = OFFLOAD_HEADER_BYTES + 18 + 65_536;

const PACKET_VNET_HDR: IntOption = packet_option(libc::PACKET_VNET_HDR);

const fn packet_option(name: libc::c_int) -> IntOption {
    IntOption::new(libc::SOL_PACKET, name)
}

/// Every protocol, as the kernel wants it in an address: in network byte order.
const EVERY_PROTOCOL: u16 = (libc::ETH_P_ALL as u16).to_be();

/// A packet socket of the calling thread's network namespace that is bound to nothing yet, so that it receives nothing.
fn open() -> io::Result<OwnedFd> {
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
fn bind(socket: &OwnedFd, device_index: u32, protocol: u16) -> io::Result<()> {
    let address = address(device_index, protocol)?;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer and length describe `address`, which outlives the call.
    let result = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn address(device_index: u32, protocol: u16) -> io::Result<libc::sockaddr_ll> {
    // SAFETY: `sockaddr_ll` is integers only, so zero is valid.
    let mut address: libc::sockaddr_ll = unsafe { socket::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol;
    address.sll_ifindex = i32::try_from(device_index).map_err(|_| io::ErrorKind::InvalidInput)?;
    Ok(address)
}

/// Sets an option that is a structure.
///
/// # Safety
/// Pointers in `value` must be valid for the call.
unsafe fn set<T>(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    let pointer = std::ptr::from_ref(value).cast();
    // SAFETY: the pointer and length describe `value`; the caller vouches for what is in it.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, pointer, length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
