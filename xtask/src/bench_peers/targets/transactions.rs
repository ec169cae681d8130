//! Targets of requests and responses; against netperf see [`super::honest`].

use bitcost_stats::Interval;

use super::target::{Target, Wanted, each};
use crate::bench_peers::field::Setup;
use crate::bench_peers::flavours::{DEFAULT, SPINNING, TIMED};
use crate::bench_peers::regime::Regime;
use crate::bench_peers::results::Compared;

/// The rows.
pub const TARGETS: &[Target] = &[
    Target {
        says: "transactions/s, spinning ÷ blocking",
        wanted: Wanted::AtLeast(1.3),
        figures: |all| each(all, |of, regime| ratio(of, regime, SPINNING)),
    },
    Target {
        says: "transactions/s, times recorded ÷ not",
        wanted: Wanted::AtLeast(0.98),
        figures: |all| each(all, |of, regime| ratio(of, regime, TIMED)),
    },
];

fn ratio(compared: &Compared, regime: Regime, ours: &str) -> Option<Interval> {
    let is_usual = compared.setup == Setup::default();
    is_usual.then(|| compared.rate_ratio((ours, regime), (DEFAULT, regime)))?
}
