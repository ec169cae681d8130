//! Socket options that the standard library does not have, each set and read back by the caller.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd};

/// An option whose value is a C `int`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntOption {
    level: libc::c_int,
    name: libc::c_int,
}

/// Most user data per segment, options included, to announce and to send (tcp(7)).
pub const TCP_MAXSEG: IntOption = IntOption { level: libc::IPPROTO_TCP, name: libc::TCP_MAXSEG };
/// Send buffer in bytes; the kernel doubles what is set (socket(7)).
pub const SO_SNDBUF: IntOption = IntOption { level: libc::SOL_SOCKET, name: libc::SO_SNDBUF };
/// Receive buffer in bytes; the kernel doubles what is set (socket(7)).
pub const SO_RCVBUF: IntOption = IntOption { level: libc::SOL_SOCKET, name: libc::SO_RCVBUF };

/// Bytes that must be there before a receive call returns (socket(7)).
pub const SO_RCVLOWAT: IntOption = IntOption { level: libc::SOL_SOCKET, name: libc::SO_RCVLOWAT };

/// Send small segments at once (tcp(7)).
pub const TCP_NODELAY: IntOption = IntOption { level: libc::IPPROTO_TCP, name: libc::TCP_NODELAY };
/// Send full segments only (tcp(7)).
pub const TCP_CORK: IntOption = IntOption { level: libc::IPPROTO_TCP, name: libc::TCP_CORK };
/// Type of service: the code point in its upper six bits (ip(7)).
pub const IP_TOS: IntOption = IntOption { level: libc::IPPROTO_IP, name: libc::IP_TOS };
/// Priority for queueing disciplines (socket(7)).
pub const SO_PRIORITY: IntOption = IntOption { level: libc::SOL_SOCKET, name: libc::SO_PRIORITY };
/// Microseconds that a receive call polls the device (socket(7)).
pub const SO_BUSY_POLL: IntOption = IntOption { level: libc::SOL_SOCKET, name: libc::SO_BUSY_POLL };
/// Length of the datagrams into which the kernel cuts what one send call hands over (udp(7)).
pub const UDP_SEGMENT: IntOption = IntOption { level: libc::SOL_UDP, name: libc::UDP_SEGMENT };
/// Receive calls take datagrams of equal length that the kernel joined (udp(7)).
pub const UDP_GRO: IntOption = IntOption { level: libc::SOL_UDP, name: libc::UDP_GRO };
/// Send calls may ask for `MSG_ZEROCOPY` (socket(7)).
pub const SO_ZEROCOPY: IntOption = IntOption { level: libc::SOL_SOCKET, name: libc::SO_ZEROCOPY };
/// MTU of a connected IPv4 socket's path; read only (ip(7)).
pub const IP_MTU: IntOption = IntOption { level: libc::IPPROTO_IP, name: libc::IP_MTU };
/// MTU of a connected IPv6 socket's path; read only (ipv6(7)).
pub const IPV6_MTU: IntOption = IntOption { level: libc::IPPROTO_IPV6, name: libc::IPV6_MTU };

/// Sets an option.
///
/// # Errors
/// The kernel's.
pub fn set_int(socket: impl AsFd, option: IntOption, value: i32) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer and length describe `value`, which outlives the call.
    let result = unsafe { libc::setsockopt(fd, option.level, option.name, (&raw const value).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option.
///
/// # Errors
/// The kernel's.
pub fn get_int(socket: impl AsFd, option: IntOption) -> io::Result<i32> {
    let mut value: libc::c_int = 0;
    // SAFETY: `c_int` has no invalid values and the buffer is exactly one of them.
    unsafe { get(socket.as_fd().as_raw_fd(), option, &mut value)? };
    Ok(value)
}

/// Reads an option into `value` and returns how many bytes the kernel wrote.
///
/// # Safety
/// Every byte pattern must be a valid `T`.
pub(crate) unsafe fn get<T>(fd: i32, option: IntOption, value: &mut T) -> io::Result<usize> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and length describe `value`; the kernel writes at most `length` bytes.
    let result =
        unsafe { libc::getsockopt(fd, option.level, option.name, std::ptr::from_mut(value).cast(), &mut length) };
    if result == 0 { Ok(length as usize) } else { Err(io::Error::last_os_error()) }
}

pub(crate) const TCP_INFO: IntOption = IntOption { level: libc::IPPROTO_TCP, name: libc::TCP_INFO };

/// A zeroed `T`, for structures that the kernel fills.
///
/// # Safety
/// All-zero bytes must be a valid `T`.
pub(crate) unsafe fn zeroed<T>() -> T {
    // SAFETY: the caller promises that zero bytes are valid.
    unsafe { MaybeUninit::<T>::zeroed().assume_init() }
}

const SO_MAX_PACING_RATE: IntOption = IntOption { level: libc::SOL_SOCKET, name: libc::SO_MAX_PACING_RATE };

/// Asks the kernel to pace what the socket sends, in bytes per second (socket(7), tc-fq(8)). TCP does so
/// by itself; for UDP the interface needs the queueing discipline `fq`, and nothing says when it is not there.
///
/// # Errors
/// The kernel's.
pub fn set_max_pacing_rate(socket: impl AsFd, bytes_per_second: u64) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let length = size_of::<u64>() as libc::socklen_t;
    let option = SO_MAX_PACING_RATE;
    // SAFETY: the pointer and length describe `bytes_per_second`, which outlives the call.
    let result =
        unsafe { libc::setsockopt(fd, option.level, option.name, (&raw const bytes_per_second).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The pacing rate in force, in bytes per second; absent where there is none.
///
/// # Errors
/// The kernel's.
pub fn max_pacing_rate(socket: impl AsFd) -> io::Result<Option<u64>> {
    let mut rate = 0u64;
    // SAFETY: `u64` has no invalid values.
    let length = unsafe { get(socket.as_fd().as_raw_fd(), SO_MAX_PACING_RATE, &mut rate)? };
    Ok((length == size_of::<u64>() && rate != u64::MAX).then_some(rate))
}

/// Sets the congestion control of a TCP socket.
///
/// # Errors
/// `ENOENT` when the host has none of that name, `EPERM` when it is not allowed to the caller.
pub fn set_congestion_control(socket: impl AsFd, name: &str) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_tcp_congestion(socket.as_fd(), name)?)
}

/// The congestion control in force on a TCP socket.
///
/// # Errors
/// The kernel's.
pub fn congestion_control(socket: impl AsFd) -> io::Result<String> {
    Ok(rustix::net::sockopt::tcp_congestion(socket.as_fd())?)
}

/// Ends both directions of a connection, so that calls that wait on it return.
///
/// # Errors
/// The kernel's, such as `ENOTCONN`.
pub fn shutdown(socket: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::shutdown(socket.as_fd(), rustix::net::Shutdown::Both)?)
}
