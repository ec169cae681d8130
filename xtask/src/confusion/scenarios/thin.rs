//! Runs with too little data to name a limiter: the right answer is *unknown*.

use bitcost_model::conditions::Workload;

use super::scenario::{Between, CUBIC, RENO, Scenario, Stripped, line, of, variant};

/// Runs that are too short, and records without the figures that the rules need.
pub const SCENARIOS: &[Scenario] = &[
    of(
        "unknown: half a second",
        &["unknown"],
        &[("message_size_bytes", "64"), ("duration_s", "0.5")],
    ),
    Scenario {
        workload: Workload::UdpStream,
        ..of(
            "unknown: UDP, counters at the edges alone",
            &["unknown"],
            &[("rate_bps", "100M"), ("probes", "edges")],
        )
    },
    Scenario {
        between: Between::Emulator(line(10)),
        stripped: Stripped::Connections,
        ..variant(
            "unknown: a small buffer on 10 ms, connections not read",
            &["unknown"],
            &[CUBIC, ("receive_buffer_bytes", "65536")],
        )
    },
    Scenario {
        stripped: Stripped::Threads,
        ..variant(
            "unknown: messages of 64 B, threads not read",
            &["unknown"],
            &[RENO, ("message_size_bytes", "64")],
        )
    },
    variant(
        "unknown: counters at the edges alone",
        &["unknown"],
        &[CUBIC, ("probes", "edges")],
    ),
];
