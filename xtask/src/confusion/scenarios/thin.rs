//! Runs with too little data to name a limiter: the right answer is *unknown*.

use super::scenario::{Scenario, Stripped, of, variant};

/// Runs that are too short, and records without the figures that the rules need.
pub const SCENARIOS: &[Scenario] = &[
    of(
        "unknown: half a second",
        "message_size_bytes=64; duration_s=0.5",
    ),
    of(
        "unknown: UDP, counters at the edges alone",
        "rate_bps=100M; probes=edges",
    )
    .udp(),
    variant(
        "unknown: a small buffer on 10 ms, connections not read",
        "congestion_control=cubic; receive_buffer_bytes=65536",
    )
    .stripped(Stripped::Connections)
    .path(10),
    variant(
        "unknown: messages of 64 B, threads not read",
        "congestion_control=reno; message_size_bytes=64",
    )
    .stripped(Stripped::Threads),
    variant(
        "unknown: counters at the edges alone",
        "congestion_control=cubic; probes=edges",
    ),
];
