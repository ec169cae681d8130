//! Targets against programs that make the same calls: the minimal C loop, and netperf.

use super::target::{Target, Wanted, each};
use crate::bench_peers::flavours::DEFAULT;

const C_LOOP: &str = "C loop";
/// netperf's name among the rivals.
pub const NETPERF: &str = "netperf";

/// The rows.
pub const TARGETS: &[Target] = &[
    Target {
        says: "rate ÷ the C loop's, same calls",
        wanted: Wanted::AtLeast(0.99),
        figures: |all| {
            each(all, |of, regime| {
                of.rate_ratio((DEFAULT, regime), (C_LOOP, regime))
            })
        },
    },
    Target {
        says: "CPU per KiB ÷ the C loop's, same calls",
        wanted: Wanted::AtMost(1.01),
        figures: |all| {
            each(all, |of, regime| {
                of.cpu_ratio((DEFAULT, regime), (C_LOOP, regime))
            })
        },
    },
    Target {
        says: "rate ÷ netperf's, same calls",
        wanted: Wanted::AtLeast(1.0),
        figures: |all| {
            each(all, |of, regime| {
                of.rate_ratio((DEFAULT, regime), (NETPERF, regime))
            })
        },
    },
];
