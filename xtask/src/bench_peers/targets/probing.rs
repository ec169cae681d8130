//! Target of probing: its cost for the traffic.

use bitcost_stats::{Interval, Side, geometric_interval};

use super::target::{Target, Wanted, each};
use crate::bench_peers::field::Setup;
use crate::bench_peers::flavours::{DEFAULT, EDGES};
use crate::bench_peers::results::{Compared, SEED};

/// The rows.
pub const TARGETS: &[Target] = &[
    Target {
        says: "rate with counters read every 100 ms ÷ rate without",
        wanted: Wanted::AtLeast(0.99),
        figures: |all| each(all, |compared| compared.rate_ratio(DEFAULT, EDGES)),
    },
    Target {
        says: "the same, geometric mean over the sizes",
        wanted: Wanted::AtLeast(0.99),
        figures: |all| over_sizes(all).into_iter().collect(),
    },
];

fn over_sizes(all: &[Compared]) -> Option<(String, Interval)> {
    let usual = all
        .iter()
        .filter(|compared| compared.setup == Setup::default());
    let pair = |compared: &Compared| {
        Some((
            compared.series(DEFAULT)?.rates.clone(),
            compared.series(EDGES)?.rates.clone(),
        ))
    };
    let pairs: Vec<_> = usual.filter_map(pair).collect();
    let sides: Vec<(Side, Side)> = pairs
        .iter()
        .map(|(a, b)| (a.as_slice(), b.as_slice()))
        .collect();
    Some((
        format!("{} cases", sides.len()),
        geometric_interval(&sides, SEED)?,
    ))
}
