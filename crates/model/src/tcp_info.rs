//! The kernel's state of a TCP connection (`TCP_INFO`, linux/tcp.h).

use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A field that is left out where the kernel does not report it.
macro_rules! tcp_info {
    ($($(#[$doc:meta])* $name:ident: $kind:ty,)*) => {
        /// `TCP_INFO` of one endpoint (linux/tcp.h); fields that the kernel does not report are
        /// absent.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub struct TcpInfo {
            $($(#[$doc])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $name: Option<$kind>,)*
        }
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
    /// Congestion window, in segments.
    snd_cwnd_segments: u32,
    /// The slow-start threshold, in segments; 2^31 − 1: there is none yet.
    snd_ssthresh_segments: u32,
    /// The receive window that the other endpoint announced, in bytes (Linux 5.4).
    snd_wnd_bytes: u32,
    /// Segments sent and not yet acknowledged.
    unacked_segments: u32,
    /// Bytes written and not yet sent.
    notsent_bytes: u32,
    /// The pacing rate of the connection, in bytes per second; 2^64 − 1: it is not paced.
    pacing_rate_bytes_per_second: u64,
    /// Segments that the other endpoint acknowledged (Linux 4.18).
    delivered: u32,
    /// Those of them that arrived with a congestion mark (ECN; Linux 4.18).
    delivered_ce: u32,
    total_retrans: u32,
    /// Segments that the other endpoint reported as duplicates (DSACK; Linux 4.19).
    dsack_dups: u32,
    /// Reordering events that were seen (Linux 4.19).
    reord_seen: u32,
    /// Segments sent: data, including retransmissions, and acknowledgements.
    segs_out: u32,
    segs_in: u32,
    /// Data segments sent, including retransmissions.
    data_segs_out: u32,
    /// Data segments received.
    data_segs_in: u32,
    /// Bytes of user data sent, including retransmissions.
    bytes_sent: u64,
    /// Bytes acknowledged.
    bytes_acked: u64,
    bytes_received: u64,
    /// Time with data in flight or waiting, in microseconds.
    busy_time_us: u64,
    /// Part of it limited by the receive window, in microseconds.
    rwnd_limited_us: u64,
    /// Part of it limited by the send buffer, in microseconds.
    sndbuf_limited_us: u64,
}

impl TcpInfo {
    /// Two connections as one: counters are added, other values are those of this connection.
    #[must_use]
    pub fn plus(&self, other: &TcpInfo) -> TcpInfo {
        fn sum<T: Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
            Some(a? + b?)
        }
        TcpInfo {
            delivered: sum(self.delivered, other.delivered),
            delivered_ce: sum(self.delivered_ce, other.delivered_ce),
            total_retrans: sum(self.total_retrans, other.total_retrans),
            dsack_dups: sum(self.dsack_dups, other.dsack_dups),
            reord_seen: sum(self.reord_seen, other.reord_seen),
            segs_out: sum(self.segs_out, other.segs_out),
            segs_in: sum(self.segs_in, other.segs_in),
            data_segs_out: sum(self.data_segs_out, other.data_segs_out),
            data_segs_in: sum(self.data_segs_in, other.data_segs_in),
            bytes_sent: sum(self.bytes_sent, other.bytes_sent),
            bytes_acked: sum(self.bytes_acked, other.bytes_acked),
            bytes_received: sum(self.bytes_received, other.bytes_received),
            busy_time_us: sum(self.busy_time_us, other.busy_time_us),
            rwnd_limited_us: sum(self.rwnd_limited_us, other.rwnd_limited_us),
            sndbuf_limited_us: sum(self.sndbuf_limited_us, other.sndbuf_limited_us),
            ..self.clone()
        }
    }
}
