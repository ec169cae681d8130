//! Targets of pacing: its accuracy and its cost.

use bitcost_stats::{Interval, median_interval};

use super::target::{Target, Wanted, each};
use crate::bench_peers::flavours::DEFAULT;
use crate::bench_peers::results::{Compared, SEED};

/// The rows.
pub const TARGETS: &[Target] = &[
    Target {
        says: "rate off what was asked, in %, 1 Gbit/s",
        wanted: Wanted::AtMost(0.1),
        figures: |all| each(all, off_the_rate),
    },
    Target {
        says: "CPU of pacing itself, in % of a CPU, 1 Gbit/s, 1024 B",
        wanted: Wanted::AtMost(10.0),
        figures: |all| each(all, own_cpu),
    },
];

fn off_the_rate(compared: &Compared) -> Option<Interval> {
    let asked = compared.case.asked_per_second()?;
    let off = |(_, rate): &(u32, f64)| (rate / asked - 1.0).abs() * 100.0;
    median_interval(
        &compared
            .series(DEFAULT)?
            .rates
            .iter()
            .map(off)
            .collect::<Vec<f64>>(),
        SEED,
    )
}

fn own_cpu(compared: &Compared) -> Option<Interval> {
    let pct = compared
        .series(DEFAULT)?
        .pacing_cpu_pct
        .iter()
        .map(|(_, pct)| *pct)
        .collect::<Vec<f64>>();
    (compared.case.size == 1024).then(|| median_interval(&pct, SEED))?
}
