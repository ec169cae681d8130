//! `TCP_INFO`: the kernel's state of a connection (linux/tcp.h).

use std::io;
use std::os::fd::AsFd;

use crate::socket;

/// `struct tcp_info`, of which older kernels fill less: times in microseconds, rates in bytes per second, windows and counts of
/// segments in segments; and its options.
pub use linux_raw_sys::net::{
    TCPI_OPT_SACK, TCPI_OPT_TIMESTAMPS, TCPI_OPT_WSCALE, tcp_info as Raw,
};

/// One reading of a connection.
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    raw: Raw,
    filled: usize,
}

impl TcpInfo {
    /// Reads the connection's state.
    pub fn read(socket: impl AsFd) -> io::Result<TcpInfo> {
        let mut bytes = [0; size_of::<Raw>()];
        // SAFETY: whatever the kernel writes is valid in bytes.
        let filled = unsafe { socket::get(socket, socket::TCP_INFO, &mut bytes)? };
        Ok(TcpInfo::of_bytes(&bytes[..filled]))
    }

    /// The state of a connection as the kernel lists it ([`crate::netlink::SockDiag`]).
    pub fn of_bytes(bytes: &[u8]) -> TcpInfo {
        // SAFETY: `Raw` is integers only, so zero is valid.
        let mut raw: Raw = unsafe { socket::zeroed() };
        let filled = bytes.len().min(size_of::<Raw>());
        // SAFETY: both have `filled` bytes, and whatever they are is valid in integers.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut raw).cast(), filled) };
        TcpInfo { raw, filled }
    }

    /// The value of a field; absent where the kernel does not fill it.
    pub fn get<T: Copy>(&self, field: fn(&Raw) -> &T) -> Option<T> {
        let value = field(&self.raw);
        let offset = std::ptr::from_ref(value).addr() - std::ptr::from_ref(&self.raw).addr();
        (self.filled >= offset + size_of::<T>()).then_some(*value)
    }

    /// True when both endpoints use a TCP option.
    pub fn has(&self, option: u32) -> Option<bool> {
        let options = self.get(|raw| &raw.tcpi_options)?;
        Some(u32::from(options) & option != 0)
    }
}
