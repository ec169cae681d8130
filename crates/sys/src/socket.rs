//! Socket options that the standard library does not have, each set and read back by the caller.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd};

use libc::{IPPROTO_IP, IPPROTO_IPV6, IPPROTO_TCP, SOL_PACKET, SOL_SOCKET, SOL_UDP};

use crate::outcome::checked;

/// True where a call only has to be repeated, once the socket is ready.
#[must_use]
pub fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    matches!(error.kind(), Interrupted | WouldBlock)
}

/// An option whose value is a C `int`: its level and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntOption(pub(crate) libc::c_int, pub(crate) libc::c_int);

/// Most user data per segment, options included, to announce and to send (tcp(7)).
pub const TCP_MAXSEG: IntOption = IntOption(IPPROTO_TCP, libc::TCP_MAXSEG);
/// Send buffer in bytes; the kernel doubles what is set (socket(7)).
pub const SO_SNDBUF: IntOption = IntOption(SOL_SOCKET, libc::SO_SNDBUF);
/// As [`SO_SNDBUF`] without the host's bound: `EPERM` without `CAP_NET_ADMIN` over the first network namespace (socket(7)).
pub const SO_SNDBUFFORCE: IntOption = IntOption(SOL_SOCKET, libc::SO_SNDBUFFORCE);
/// Receive buffer in bytes; the kernel doubles what is set (socket(7)).
pub const SO_RCVBUF: IntOption = IntOption(SOL_SOCKET, libc::SO_RCVBUF);
/// Bytes that must be available before a receive call returns (socket(7)).
pub const SO_RCVLOWAT: IntOption = IntOption(SOL_SOCKET, libc::SO_RCVLOWAT);

/// Send small segments at once (tcp(7)).
pub const TCP_NODELAY: IntOption = IntOption(IPPROTO_TCP, libc::TCP_NODELAY);
/// Send full segments only (tcp(7)).
pub const TCP_CORK: IntOption = IntOption(IPPROTO_TCP, libc::TCP_CORK);
/// Unsent bytes from which a socket is not writable (tcp(7)).
pub const TCP_NOTSENT_LOWAT: IntOption = IntOption(IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT);
/// The longest time between two retransmissions, in milliseconds (Linux 6.15; not in libc yet).
pub const TCP_RTO_MAX_MS: IntOption = IntOption(IPPROTO_TCP, 44);
/// Type of service: the code point in its upper six bits (ip(7)).
pub const IP_TOS: IntOption = IntOption(IPPROTO_IP, libc::IP_TOS);
/// Traffic class: the code point in its upper six bits (ipv6(7)).
pub const IPV6_TCLASS: IntOption = IntOption(IPPROTO_IPV6, libc::IPV6_TCLASS);
/// The port is chosen when the socket is connected, not when it is bound to an address (ip(7)).
pub const IP_BIND_ADDRESS_NO_PORT: IntOption = IntOption(IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT);
/// Microseconds that a receive call polls the device (socket(7)).
pub const SO_BUSY_POLL: IntOption = IntOption(SOL_SOCKET, libc::SO_BUSY_POLL);
/// Length of the datagrams into which the kernel segments the data of one send call (udp(7)).
pub const UDP_SEGMENT: IntOption = IntOption(SOL_UDP, libc::UDP_SEGMENT);
/// Receive calls return several datagrams of equal length that the kernel joined (udp(7)).
pub const UDP_GRO: IntOption = IntOption(SOL_UDP, libc::UDP_GRO);
/// Receive calls report when the kernel received each datagram (socket(7)).
pub const SO_TIMESTAMPNS: IntOption = IntOption(SOL_SOCKET, libc::SO_TIMESTAMPNS);
/// Whether packets may be fragmented: `IP_PMTUDISC_DO` is 2 and forbids it (ip(7)).
pub const IP_MTU_DISCOVER: IntOption = IntOption(IPPROTO_IP, libc::IP_MTU_DISCOVER);
/// As [`IP_MTU_DISCOVER`] (ipv6(7)).
pub const IPV6_MTU_DISCOVER: IntOption = IntOption(IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER);
/// MTU of a connected IPv4 socket's path; read only (ip(7)).
pub const IP_MTU: IntOption = IntOption(IPPROTO_IP, libc::IP_MTU);
/// MTU of a connected IPv6 socket's path; read only (ipv6(7)).
pub const IPV6_MTU: IntOption = IntOption(IPPROTO_IPV6, libc::IPV6_MTU);
/// Errors that hops report are queued (ip(7)).
pub const IP_RECVERR: IntOption = IntOption(IPPROTO_IP, libc::IP_RECVERR);
/// As [`IP_RECVERR`] (ipv6(7)).
pub const IPV6_RECVERR: IntOption = IntOption(IPPROTO_IPV6, libc::IPV6_RECVERR);

/// The pending error since this was last read, as an error number; 0: none (socket(7)).
pub const SO_ERROR: IntOption = IntOption(SOL_SOCKET, libc::SO_ERROR);

/// A packet socket does not see what this host sends (packet(7)).
pub const PACKET_IGNORE_OUTGOING: IntOption = IntOption(SOL_PACKET, libc::PACKET_IGNORE_OUTGOING);

/// Sets an option.
pub fn set_int(socket: impl AsFd, option: IntOption, value: i32) -> io::Result<()> {
    // SAFETY: an integer has no pointers.
    unsafe { set(socket, option, &value) }
}

/// Sets an option whose value is a structure or a number.
///
/// # Safety
/// Pointers in `value` must be valid for the call.
pub(crate) unsafe fn set<T: ?Sized>(
    socket: impl AsFd,
    IntOption(level, name): IntOption,
    value: &T,
) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let length = size_of_val(value) as libc::socklen_t;
    let pointer = std::ptr::from_ref(value).cast();
    // SAFETY: the pointer and length describe `value`; the caller vouches for what is in it.
    checked(unsafe { libc::setsockopt(fd, level, name, pointer, length) })?;
    Ok(())
}

/// Reads an option.
pub fn get_int(socket: impl AsFd, option: IntOption) -> io::Result<i32> {
    let mut value: libc::c_int = 0;
    // SAFETY: `c_int` has no invalid values and the buffer is exactly one of them.
    unsafe { get(socket, option, &mut value)? };
    Ok(value)
}

/// Reads an option into `value` and returns how many bytes the kernel wrote.
///
/// # Safety
/// Every byte pattern must be a valid `T`.
pub(crate) unsafe fn get<T>(
    socket: impl AsFd,
    IntOption(level, name): IntOption,
    value: &mut T,
) -> io::Result<usize> {
    let fd = socket.as_fd().as_raw_fd();
    let mut length = size_of::<T>() as libc::socklen_t;
    let pointer = std::ptr::from_mut(value).cast();
    // SAFETY: the pointer and length describe `value`; the kernel writes at most `length` bytes.
    checked(unsafe { libc::getsockopt(fd, level, name, pointer, &mut length) })?;
    Ok(length as usize)
}

/// Bytes that a TCP socket has taken and the other host has not acknowledged (`SIOCOUTQ`, tcp(7)).
pub fn queued_bytes(socket: impl AsFd) -> io::Result<u32> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request writes one int, for which there is room.
    checked(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
    Ok(bytes.unsigned_abs())
}

const SO_MEMINFO: IntOption = IntOption(SOL_SOCKET, libc::SO_MEMINFO);

/// The socket's memory and queues, in bytes (linux/sock_diag.h, `SK_MEMINFO_…`): of data that was received and is not read
/// yet, the receive buffer, of data to send with its overhead, the send buffer, memory that is reserved beyond that, of
/// data that waits to be sent, of options, of the backlog of the socket's lock; and the number of dropped packets.
pub fn memory(socket: impl AsFd) -> io::Result<[u32; 9]> {
    let mut words = [0u32; 9];
    // SAFETY: `u32` has no invalid values.
    let length = unsafe { get(socket, SO_MEMINFO, &mut words)? };
    match length < size_of_val(&words) {
        true => Err(io::ErrorKind::UnexpectedEof.into()),
        false => Ok(words),
    }
}

const TCP_INFO: IntOption = IntOption(IPPROTO_TCP, libc::TCP_INFO);

/// The state of a connection: what the kernel fills of `struct tcp_info` (linux/tcp.h).
pub fn tcp_info(socket: impl AsFd) -> io::Result<Vec<u8>> {
    let mut bytes = [0; 512];
    // SAFETY: bytes have no invalid values.
    let filled = unsafe { get(socket, TCP_INFO, &mut bytes)? };
    Ok(bytes[..filled].to_vec())
}

/// A zeroed `T`, for structures that the kernel fills.
///
/// # Safety
/// All-zero bytes must be a valid `T`.
pub(crate) unsafe fn zeroed<T>() -> T {
    // SAFETY: the caller promises that zero bytes are valid.
    unsafe { MaybeUninit::<T>::zeroed().assume_init() }
}

const SO_MAX_PACING_RATE: IntOption = IntOption(SOL_SOCKET, libc::SO_MAX_PACING_RATE);

/// Asks the kernel to pace what the socket sends, in bytes per second (socket(7), tc-fq(8)). TCP needs
/// nothing else; for UDP the interface needs the queueing discipline `fq`, and its absence is not reported.
pub fn set_max_pacing_rate(socket: impl AsFd, bytes_per_second: u64) -> io::Result<()> {
    // SAFETY: an integer has no pointers.
    unsafe { set(socket, SO_MAX_PACING_RATE, &bytes_per_second) }
}

/// The pacing rate in effect, in bytes per second; absent where there is none.
pub fn max_pacing_rate(socket: impl AsFd) -> io::Result<Option<u64>> {
    let mut rate = 0u64;
    // SAFETY: `u64` has no invalid values.
    let length = unsafe { get(socket, SO_MAX_PACING_RATE, &mut rate)? };
    Ok((length == size_of::<u64>() && rate != u64::MAX).then_some(rate))
}

const SO_BINDTODEVICE: IntOption = IntOption(SOL_SOCKET, libc::SO_BINDTODEVICE);

/// Binds a socket to an interface (`SO_BINDTODEVICE`, socket(7)).
///
/// # Errors
/// `ENODEV` when there is no interface of this name.
pub fn bind_to_device(socket: impl AsFd, device: &str) -> io::Result<()> {
    // SAFETY: bytes have no pointers.
    unsafe { set(socket, SO_BINDTODEVICE, device.as_bytes()) }
}

/// The interface that a socket is bound to; absent where it is bound to none.
pub fn bound_device(socket: impl AsFd) -> io::Result<Option<String>> {
    let mut name = [0u8; libc::IFNAMSIZ];
    // SAFETY: bytes have no invalid values.
    let length = unsafe { get(socket, SO_BINDTODEVICE, &mut name)? };
    let name = name[..length]
        .split(|byte| *byte == 0)
        .next()
        .unwrap_or_default();
    Ok((!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned()))
}
