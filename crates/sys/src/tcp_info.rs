//! `TCP_INFO`: the kernel's state of a connection (linux/tcp.h).

use std::io;
use std::os::fd::AsFd;

use crate::socket;

/// `struct tcp_info`, up to the fields that are used; older kernels fill less of it. Names and units are the kernel's,
/// without `tcpi_`: times in microseconds, rates in bytes per second, windows and counts of segments in segments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Raw {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    pub wscale: u8,
    pub flags: u8,
    pub rto: u32,
    pub ato: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    pub last_data_sent: u32,
    pub last_ack_sent: u32,
    pub last_data_recv: u32,
    pub last_ack_recv: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt: u32,
    pub rttvar: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time: u64,
    pub rwnd_limited: u64,
    pub sndbuf_limited: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
    pub rcv_wnd: u32,
}

/// TCP options, as `TCPI_OPT_…` names them.
pub const TIMESTAMPS: u8 = 1;
/// Selective acknowledgements.
pub const SACK: u8 = 2;
/// Window scaling.
pub const WSCALE: u8 = 4;

/// One reading of a connection.
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    raw: Raw,
    filled: usize,
}

impl TcpInfo {
    /// Reads the connection's state.
    pub fn read(socket: impl AsFd) -> io::Result<TcpInfo> {
        // SAFETY: `Raw` is integers only, so zero is valid.
        let mut raw: Raw = unsafe { socket::zeroed() };
        // SAFETY: `Raw` is integers only, so whatever the kernel writes is valid.
        let filled = unsafe { socket::get(socket, socket::TCP_INFO, &mut raw)? };
        Ok(TcpInfo { raw, filled })
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
    pub fn has(&self, option: u8) -> Option<bool> {
        let options = self.get(|raw| &raw.options)?;
        Some(options & option != 0)
    }
}
