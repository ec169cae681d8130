//! Targets against peers at their defaults, with ours.

use bitcost_stats::{Interval, geometric_interval};

use super::target::{Target, Wanted, each};
use crate::bench_peers::cases::Traffic;
use crate::bench_peers::field::Setup;
use crate::bench_peers::flavours::DEFAULT;
use crate::bench_peers::regime::Regime;
use crate::bench_peers::results::{Compared, SEED};

const PEERS: [&str; 4] = ["iperf3", "nuttcp", "iperf2", "netperf"];

/// The rows.
pub const TARGETS: &[Target] = &[
    Target {
        // The C loop has about a peer's figure: one call for each datagram leaves nothing to gain.
        says: "UDP datagrams/s received ÷ a peer's, geometric mean over the sizes, defaults of both",
        wanted: Wanted::AtLeast(1.0),
        figures: over_sizes,
    },
    Target {
        says: "rate ÷ a peer's in the same regime, defaults of both",
        wanted: Wanted::AtLeast(0.97),
        figures: at_each_size,
    },
];

/// Each peer's figure over all sizes of UDP in the usual setup; netperf is held to its own target.
fn over_sizes(all: &[Compared]) -> Vec<(String, Interval)> {
    let of_peer = |peer: &'static str| {
        let cases = all.iter().filter(|compared| {
            compared.setup == Setup::default() && compared.case.traffic == Traffic::Udp
        });
        let pair = |compared: &Compared| {
            let [ours, theirs] = [DEFAULT, peer].map(|name| compared.rates((name, Regime::Any)));
            (!ours.is_empty() && !theirs.is_empty()).then_some((ours, theirs))
        };
        let pairs: Vec<_> = cases.filter_map(pair).collect();
        let sides: Vec<_> = pairs
            .iter()
            .map(|(ours, theirs)| (ours.as_slice(), theirs.as_slice()))
            .collect();
        let name = format!("udp, {} sizes, {peer}", sides.len());
        Some((name, geometric_interval(&sides, SEED)?))
    };
    PEERS[..3].iter().copied().filter_map(of_peer).collect()
}

fn at_each_size(all: &[Compared]) -> Vec<(String, Interval)> {
    let of = |peer: &&str| {
        let ratio = |of: &Compared, regime| {
            let is_usual = of.setup == Setup::default();
            is_usual.then(|| of.rate_ratio((DEFAULT, regime), (peer, regime)))?
        };
        let found = each(all, ratio).into_iter();
        found
            .map(|(place, ratio)| (format!("{place}, {peer}"), ratio))
            .collect::<Vec<_>>()
    };
    PEERS.iter().flat_map(of).collect()
}
