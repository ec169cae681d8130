//! `TCP_INFO`: what the kernel knows of a connection (linux/tcp.h).

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, AsRawFd};

use crate::socket;

/// The kernel's structure, up to the fields that are used; older kernels fill less of it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Raw {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    wscale: u8,
    /// Bit fields; the first is `delivery_rate_app_limited`.
    flags: u8,
    rto: u32,
    ato: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent: u32,
    last_ack_sent: u32,
    last_data_recv: u32,
    last_ack_recv: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
    rcv_wnd: u32,
}

/// One reading of a connection.
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    raw: Raw,
    filled: usize,
}

macro_rules! field {
    ($(#[$doc:meta])* $name:ident: $kind:ty = $raw:ident) => {
        $(#[$doc])*
        pub fn $name(&self) -> Option<$kind> {
            let end = offset_of!(Raw, $raw) + size_of_val(&self.raw.$raw);
            (self.filled >= end).then_some(self.raw.$raw)
        }
    };
}

impl TcpInfo {
    /// Reads the connection's state.
    ///
    /// # Errors
    /// The kernel's.
    pub fn read(socket: impl AsFd) -> io::Result<TcpInfo> {
        // SAFETY: `Raw` is integers only, so zero is valid.
        let mut raw: Raw = unsafe { socket::zeroed() };
        // SAFETY: `Raw` is integers only, so whatever the kernel writes is valid.
        let filled = unsafe { socket::get(socket.as_fd().as_raw_fd(), socket::TCP_INFO, &mut raw)? };
        Ok(TcpInfo { raw, filled })
    }

    /// True when both ends use timestamps (`TCPI_OPT_TIMESTAMPS`).
    pub fn timestamps(&self) -> Option<bool> {
        (self.filled > offset_of!(Raw, options)).then_some(self.raw.options & 1 != 0)
    }

    /// True when the delivery rate was limited by what the program wrote; a bit of its own from Linux 4.9 on, with the rate.
    pub fn delivery_rate_app_limited(&self) -> Option<bool> {
        // The first bit field stands in the lowest bit on little-endian machines, in the highest on others.
        let bit = if cfg!(target_endian = "little") { 0x01 } else { 0x80 };
        self.delivery_rate_bytes_per_second().map(|_| self.raw.flags & bit != 0)
    }

    field!(/// State of congestion control (`enum tcp_ca_state`).
        ca_state: u8 = ca_state);
    field!(/// Round-trip time as the receiver of data estimates it, in microseconds.
        rcv_rtt_us: u32 = rcv_rtt);
    field!(/// The window above which it grows slowly, in segments.
        snd_ssthresh_segments: u32 = snd_ssthresh);
    field!(/// The receive window that the other end announced, in bytes.
        snd_wnd_bytes: u32 = snd_wnd);
    field!(/// The receive window that this end announced, in bytes.
        rcv_wnd_bytes: u32 = rcv_wnd);
    field!(/// Segments sent and not yet acknowledged.
        unacked_segments: u32 = unacked);
    field!(/// Bytes written and not yet sent.
        notsent_bytes: u32 = notsent_bytes);
    field!(/// The rate at which the connection paces itself, in bytes per second.
        pacing_rate_bytes_per_second: u64 = pacing_rate);
    field!(/// The latest rate at which data was delivered, in bytes per second.
        delivery_rate_bytes_per_second: u64 = delivery_rate);
    field!(/// Bytes sent again.
        bytes_retrans: u64 = bytes_retrans);
    field!(/// Segments that the other end had twice.
        dsack_dups: u32 = dsack_dups);
    field!(/// Times segments were seen to overtake each other.
        reord_seen: u32 = reord_seen);
    field!(/// Segments received out of order.
        rcv_ooopack: u32 = rcv_ooopack);
    field!(/// User data per segment sent, in bytes.
        snd_mss_bytes: u32 = snd_mss);
    field!(/// Smoothed round-trip time, in microseconds.
        rtt_us: u32 = rtt);
    field!(/// Least round-trip time seen, in microseconds.
        min_rtt_us: u32 = min_rtt);
    field!(/// Congestion window, in segments.
        snd_cwnd_segments: u32 = snd_cwnd);
    field!(/// Segments sent again.
        total_retrans: u32 = total_retrans);
    field!(/// Segments sent, acknowledgements too.
        segs_out: u32 = segs_out);
    field!(/// Segments received, acknowledgements too.
        segs_in: u32 = segs_in);
    field!(/// Data segments sent, again-sent ones too.
        data_segs_out: u32 = data_segs_out);
    field!(/// Data segments received.
        data_segs_in: u32 = data_segs_in);
    field!(/// Bytes of user data sent, again-sent ones too.
        bytes_sent: u64 = bytes_sent);
    field!(/// Bytes acknowledged.
        bytes_acked: u64 = bytes_acked);
    field!(/// Bytes received.
        bytes_received: u64 = bytes_received);
    field!(/// Time with data in flight or waiting, in microseconds.
        busy_time_us: u64 = busy_time);
    field!(/// Part of it limited by the receive window, in microseconds.
        rwnd_limited_us: u64 = rwnd_limited);
    field!(/// Part of it limited by the send buffer, in microseconds.
        sndbuf_limited_us: u64 = sndbuf_limited);
}
