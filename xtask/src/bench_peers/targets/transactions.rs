//! Targets of requests and responses; against netperf see [`super::honest`].

use super::target::{Target, Wanted, each};
use crate::bench_peers::field::Setup;
use crate::bench_peers::flavours::{DEFAULT, SPINNING, TIMED};
use crate::bench_peers::results::Compared;

/// The rows.
pub const TARGETS: &[Target] = &[
    Target {
        says: "transactions/s, spinning ÷ blocking",
        wanted: Wanted::AtLeast(1.3),
        figures: |all| {
            each(all, |compared| {
                usual(compared)?.rate_ratio(SPINNING, DEFAULT)
            })
        },
    },
    Target {
        says: "transactions/s, times recorded ÷ not",
        wanted: Wanted::AtLeast(0.98),
        figures: |all| each(all, |compared| usual(compared)?.rate_ratio(TIMED, DEFAULT)),
    },
];

fn usual(compared: &Compared) -> Option<&Compared> {
    (compared.setup == Setup::default()).then_some(compared)
}
