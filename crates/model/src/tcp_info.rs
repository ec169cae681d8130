//! The kernel's state of a TCP connection (`TCP_INFO`, linux/tcp.h).

use std::mem::offset_of;

use linux_raw_sys::net::{TCPI_OPT_SACK, TCPI_OPT_TIMESTAMPS, TCPI_OPT_WSCALE, tcp_info as Raw};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rows of fields with where the kernel has them: in a field, a bit of one, or as two that are compared. With `sum`, several
/// connections as one have the sum of their values, otherwise that of the first.
macro_rules! tcp_info {
    ($($(#[$doc:meta])* $name:ident: $kind:ident = $raw:ident $(& $bit:ident)? $(< $than:ident)? $(, $sum:ident)?;)*) => {
        /// `TCP_INFO` of one endpoint (linux/tcp.h); fields that the kernel does not report are
        /// absent.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub struct TcpInfo {
            $($(#[$doc])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $name: Option<$kind>,)*
        }

        impl TcpInfo {
            /// Reads the kernel's structure, of which older kernels fill less.
            pub fn of_bytes(bytes: &[u8]) -> TcpInfo {
                TcpInfo {
                    $($name: tcp_info!(of bytes $kind $raw $(& $bit)? $(< $than)?),)*
                }
            }

            /// Two connections as one: counters are added, other values are those of this connection.
            #[must_use]
            pub fn plus(&self, other: &TcpInfo) -> TcpInfo {
                TcpInfo {
                    $($name: tcp_info!($($sum)? self.$name, other.$name),)*
                }
            }
        }
    };
    (of $bytes:ident $kind:ident $raw:ident & $bit:ident) => {
        tcp_info!(of $bytes u8 $raw).map(|bits| u32::from(bits) & $bit != 0)
    };
    (of $bytes:ident $kind:ident $raw:ident < $than:ident) => {
        tcp_info!(of $bytes u32 $raw).zip(tcp_info!(of $bytes u32 $than)).and_then(|(one, other)| (one != other).then_some(one < other))
    };
    (of $bytes:ident $kind:ident $raw:ident) => {{
        let read = |raw: &[u8; size_of::<$kind>()]| <$kind>::from_ne_bytes(*raw);
        $bytes.get(offset_of!(Raw, $raw)..).and_then(<[u8]>::first_chunk).map(read)
    }};
    (sum $own:expr, $other:expr) => {
        $own.zip($other).map(|(own, other)| own.wrapping_add(other))
    };
    ($own:expr, $other:expr) => {
        $own
    };
}

tcp_info! {
    /// Send MSS: user data per segment, in bytes.
    snd_mss_bytes: u32 = tcpi_snd_mss;
    /// True when both endpoints use timestamps.
    timestamps: bool = tcpi_options & TCPI_OPT_TIMESTAMPS;
    /// True when both endpoints use selective acknowledgements.
    sack: bool = tcpi_options & TCPI_OPT_SACK;
    /// True when both endpoints use window scaling.
    window_scaling: bool = tcpi_options & TCPI_OPT_WSCALE;
    /// State of congestion control: 0 open, 1 disorder, 2 reduced by ECN, 3 recovery, 4 loss (`enum
    /// tcp_ca_state`).
    ca_state: u8 = tcpi_ca_state;
    /// Smoothed round-trip time, in microseconds.
    rtt_us: u32 = tcpi_rtt;
    /// Least round-trip time seen, in microseconds.
    min_rtt_us: u32 = tcpi_min_rtt;
    /// Round-trip time as the receiver of the data estimates it, in microseconds.
    rcv_rtt_us: u32 = tcpi_rcv_rtt;
    /// Congestion window, in segments.
    snd_cwnd_segments: u32 = tcpi_snd_cwnd;
    /// The slow-start threshold, in segments; 2^31 − 1: there is none yet.
    snd_ssthresh_segments: u32 = tcpi_snd_ssthresh;
    /// The receive window that the other endpoint announced, in bytes (Linux 5.4).
    snd_wnd_bytes: u32 = tcpi_snd_wnd;
    /// The receive window that this endpoint announced, in bytes (Linux 6.2).
    rcv_wnd_bytes: u32 = tcpi_rcv_wnd;
    /// Segments sent and not yet acknowledged.
    unacked_segments: u32 = tcpi_unacked;
    /// Bytes written and not yet sent.
    notsent_bytes: u32 = tcpi_notsent_bytes;
    /// True when data of the other endpoint came after the last that was sent; absent within a tick.
    heard_last: bool = tcpi_last_data_recv < tcpi_last_data_sent;
    /// The pacing rate of the connection, in bytes per second; 2^64 − 1: it is not paced.
    pacing_rate_bytes_per_second: u64 = tcpi_pacing_rate;
    /// The most that the program lets it pace itself at (`SO_MAX_PACING_RATE`), in bytes per second; 2^64 − 1, or of
    /// 32 bits: any.
    max_pacing_rate_bytes_per_second: u64 = tcpi_max_pacing_rate;
    /// Segments that the other endpoint acknowledged (Linux 4.18).
    delivered: u32 = tcpi_delivered, sum;
    /// Those of them that arrived with a congestion mark (ECN; Linux 4.18).
    delivered_ce: u32 = tcpi_delivered_ce, sum;
    total_retrans: u32 = tcpi_total_retrans, sum;
    /// Segments that the other endpoint reported as duplicates (DSACK; Linux 4.19).
    dsack_dups: u32 = tcpi_dsack_dups, sum;
    /// Reordering events that were seen (Linux 4.19).
    reord_seen: u32 = tcpi_reord_seen, sum;
    /// Segments received out of order (Linux 5.4).
    rcv_ooopack: u32 = tcpi_rcv_ooopack, sum;
    /// Segments sent: data, including retransmissions, and acknowledgements.
    segs_out: u32 = tcpi_segs_out, sum;
    segs_in: u32 = tcpi_segs_in, sum;
    /// Data segments sent, including retransmissions.
    data_segs_out: u32 = tcpi_data_segs_out, sum;
    /// Data segments received.
    data_segs_in: u32 = tcpi_data_segs_in, sum;
    /// Bytes of user data sent, including retransmissions.
    bytes_sent: u64 = tcpi_bytes_sent, sum;
    /// Bytes acknowledged.
    bytes_acked: u64 = tcpi_bytes_acked, sum;
    bytes_received: u64 = tcpi_bytes_received, sum;
    /// Time with data in flight or waiting, in microseconds.
    busy_time_us: u64 = tcpi_busy_time, sum;
    /// Part of it limited by the receive window, in microseconds.
    rwnd_limited_us: u64 = tcpi_rwnd_limited, sum;
    /// Part of it limited by the send buffer, in microseconds.
    sndbuf_limited_us: u64 = tcpi_sndbuf_limited, sum;
}

impl TcpInfo {
    /// Whether the bytes that were sent fill so many segments that the 32-bit counters of segments went round.
    pub fn has_wrapped(&self) -> bool {
        let sent = self.bytes_sent.zip(self.snd_mss_bytes);
        sent.is_some_and(|(bytes, mss)| bytes / u64::from(mss.max(1)) >= u64::from(u32::MAX))
    }
}
