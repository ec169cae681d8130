//! Targets against peers at their defaults, with ours.

use bitcost_stats::{Interval, Side, geometric_interval};

use super::target::{Target, Wanted, place};
use crate::bench_peers::cases::Traffic;
use crate::bench_peers::field::Setup;
use crate::bench_peers::flavours::DEFAULT;
use crate::bench_peers::results::{Compared, SEED};

const PEERS: [&str; 3] = ["iperf3", "nuttcp", "iperf2"];

/// The rows.
pub const TARGETS: &[Target] = &[
    Target {
        says: "TCP rate ÷ a peer's, geometric mean over the sizes, defaults of both",
        wanted: Wanted::AtLeast(1.05),
        figures: |all| over_sizes(all, Traffic::Tcp),
    },
    Target {
        says: "UDP packets/s ÷ a peer's, geometric mean over the sizes, defaults of both",
        wanted: Wanted::AtLeast(1.2),
        figures: |all| over_sizes(all, Traffic::Udp),
    },
    Target {
        says: "rate ÷ a peer's, defaults of both",
        wanted: Wanted::AtLeast(0.97),
        figures: at_each_size,
    },
];

/// Each peer's figure over all sizes in the usual setup.
fn over_sizes(all: &[Compared], traffic: Traffic) -> Vec<(String, Interval)> {
    let of_peer = |peer: &'static str| {
        let cases = all.iter().filter(|compared| {
            compared.setup == Setup::default() && compared.case.traffic == traffic
        });
        let pair = |compared| Some((rates(compared, DEFAULT)?, rates(compared, peer)?));
        let pairs: Vec<(Side, Side)> = cases.filter_map(pair).collect();
        let name = if traffic == Traffic::Tcp {
            "tcp"
        } else {
            "udp"
        };
        Some((
            format!("{name}, {} sizes, {peer}", pairs.len()),
            geometric_interval(&pairs, SEED)?,
        ))
    };
    PEERS.into_iter().filter_map(of_peer).collect()
}

fn rates<'a>(compared: &'a Compared, name: &str) -> Option<Side<'a>> {
    compared.series(name).map(|series| series.rates.as_slice())
}

fn at_each_size(all: &[Compared]) -> Vec<(String, Interval)> {
    let of = |compared: &Compared| {
        let peer = |peer: &&str| {
            Some((
                format!("{}, {peer}", place(compared)),
                compared.rate_ratio(DEFAULT, peer)?,
            ))
        };
        PEERS.iter().filter_map(peer).collect::<Vec<_>>()
    };
    all.iter()
        .filter(|compared| compared.setup == Setup::default())
        .flat_map(of)
        .collect()
}
