//! Targets of pacing: its accuracy and its cost.

use bitcost_stats::{Interval, median_interval};

use super::target::{Target, Wanted, each};
use crate::bench_peers::figure::Figure;
use crate::bench_peers::flavours::DEFAULT;
use crate::bench_peers::regime::Regime;
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

fn off_the_rate(compared: &Compared, regime: Regime) -> Option<Interval> {
    let asked = compared.case.asked_per_second()?;
    let off = |figure: &Figure| Some((figure.per_second / asked - 1.0).abs() * 100.0);
    middle(compared, regime, off)
}

fn own_cpu(compared: &Compared, regime: Regime) -> Option<Interval> {
    let of = |figure: &Figure| figure.pacing_cpu_pct;
    (compared.case.size == 1024).then(|| middle(compared, regime, of))?
}

fn middle(
    compared: &Compared,
    regime: Regime,
    figure: impl Fn(&Figure) -> Option<f64>,
) -> Option<Interval> {
    let values = compared.values((DEFAULT, regime), figure);
    let values: Vec<f64> = values.into_iter().map(|(_, value)| value).collect();
    median_interval(&values, SEED)
}
