//! The kernel's state of a TCP connection (`TCP_INFO`, linux/tcp.h).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rows of fields that are left out where the kernel does not report them. With `= sum`, several connections as one have
/// the sum of their values, otherwise that of the first.
macro_rules! tcp_info {
    ($($(#[$doc:meta])* $name:ident: $kind:ty $(= $sum:ident)?,)*) => {
        /// `TCP_INFO` of one endpoint (linux/tcp.h); fields that the kernel does not report are
        /// absent.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub struct TcpInfo {
            $($(#[$doc])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $name: Option<$kind>,)*
        }

        impl TcpInfo {
            /// Two connections as one: counters are added, other values are those of this connection.
            #[must_use]
            pub fn plus(&self, other: &TcpInfo) -> TcpInfo {
                TcpInfo {
                    $($name: tcp_info!($($sum)? self.$name, other.$name),)*
                }
            }
        }
    };
    (sum $own:expr, $other:expr) => {
        $own.zip($other).map(|(own, other)| own + other)
    };
    ($own:expr, $other:expr) => {
        $own
    };
}

tcp_info! {
    /// Send MSS: user data per segment, in bytes.
    snd_mss_bytes: u32,
    /// True when both endpoints use timestamps.
    timestamps: bool,
    /// True when both endpoints use selective acknowledgements.
    sack: bool,
    /// True when both endpoints use window scaling.
    window_scaling: bool,
    /// State of congestion control: 0 open, 1 disorder, 2 reduced by ECN, 3 recovery, 4 loss (`enum
    /// tcp_ca_state`).
    ca_state: u8,
    /// Smoothed round-trip time, in microseconds.
    rtt_us: u32,
    /// Least round-trip time seen, in microseconds.
    min_rtt_us: u32,
    /// Round-trip time as the receiver of the data estimates it, in microseconds.
    rcv_rtt_us: u32,
    /// Congestion window, in segments.
    snd_cwnd_segments: u32,
    /// The slow-start threshold, in segments; 2^31 − 1: there is none yet.
    snd_ssthresh_segments: u32,
    /// The receive window that the other endpoint announced, in bytes (Linux 5.4).
    snd_wnd_bytes: u32,
    /// The receive window that this endpoint announced, in bytes (Linux 6.2).
    rcv_wnd_bytes: u32,
    /// Segments sent and not yet acknowledged.
    unacked_segments: u32,
    /// Bytes written and not yet sent.
    notsent_bytes: u32,
    /// True when data of the other endpoint came after the last that was sent; absent within a tick, and of own traffic.
    heard_last: bool,
    /// The pacing rate of the connection, in bytes per second; 2^64 − 1: it is not paced.
    pacing_rate_bytes_per_second: u64,
    /// The most that the program lets it pace itself at (`SO_MAX_PACING_RATE`), in bytes per second; 2^64 − 1, or of
    /// 32 bits: any.
    max_pacing_rate_bytes_per_second: u64,
    /// Segments that the other endpoint acknowledged (Linux 4.18).
    delivered: u32 = sum,
    /// Those of them that arrived with a congestion mark (ECN; Linux 4.18).
    delivered_ce: u32 = sum,
    total_retrans: u32 = sum,
    /// Segments that the other endpoint reported as duplicates (DSACK; Linux 4.19).
    dsack_dups: u32 = sum,
    /// Reordering events that were seen (Linux 4.19).
    reord_seen: u32 = sum,
    /// Segments received out of order (Linux 5.4).
    rcv_ooopack: u32 = sum,
    /// Segments sent: data, including retransmissions, and acknowledgements.
    segs_out: u32 = sum,
    segs_in: u32 = sum,
    /// Data segments sent, including retransmissions.
    data_segs_out: u32 = sum,
    /// Data segments received.
    data_segs_in: u32 = sum,
    /// Bytes of user data sent, including retransmissions.
    bytes_sent: u64 = sum,
    /// Bytes acknowledged.
    bytes_acked: u64 = sum,
    bytes_received: u64 = sum,
    /// Time with data in flight or waiting, in microseconds.
    busy_time_us: u64 = sum,
    /// Part of it limited by the receive window, in microseconds.
    rwnd_limited_us: u64 = sum,
    /// Part of it limited by the send buffer, in microseconds.
    sndbuf_limited_us: u64 = sum,
}
