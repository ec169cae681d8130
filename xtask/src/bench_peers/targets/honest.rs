//! Targets against programs that make the same calls: the minimal C loop, and netperf.

use bitcost_stats::Interval;

use super::target::{Target, Wanted, each};
use crate::bench_peers::results::Compared;

const C_LOOP: &str = "C loop";
/// netperf's name among the rivals.
pub const NETPERF: &str = "netperf";

/// The rows.
pub const TARGETS: &[Target] = &[
    Target {
        says: "rate ÷ the C loop's, same calls",
        wanted: Wanted::AtLeast(0.99),
        figures: |all| each(all, |compared| rate(compared, C_LOOP)),
    },
    Target {
        says: "CPU per KiB ÷ the C loop's, same calls",
        wanted: Wanted::AtMost(1.01),
        figures: |all| {
            each(all, |compared| {
                compared.cpu_ratio(counterpart(compared, C_LOOP)?, C_LOOP)
            })
        },
    },
    Target {
        says: "rate ÷ netperf's, same calls",
        wanted: Wanted::AtLeast(1.0),
        figures: |all| each(all, |compared| rate(compared, NETPERF)),
    },
];

fn rate(compared: &Compared, rival: &str) -> Option<Interval> {
    compared.rate_ratio(counterpart(compared, rival)?, rival)
}

fn counterpart(compared: &Compared, rival: &str) -> Option<&'static str> {
    compared
        .entries
        .iter()
        .find(|entry| entry.name == rival)
        .map(|entry| entry.counterpart)
}
