//! Targets of the fast modes.

use bitcost_stats::{Interval, median};

use super::honest::NETPERF;
use super::target::{Target, Wanted, each};
use crate::bench_peers::cases::Traffic;
use crate::bench_peers::field::Setup;
use crate::bench_peers::flavours::{DEFAULT, FAST, is_fast_tcp};
use crate::bench_peers::results::Compared;

/// The rows.
pub const TARGETS: &[Target] = &[
    Target {
        says: "fast packets/s ÷ netperf's, UDP 64 B",
        wanted: Wanted::AtLeast(40.0),
        figures: |all| each(all, |compared| udp(compared, 64)),
    },
    Target {
        says: "fast packets/s ÷ netperf's, UDP 1472 B",
        wanted: Wanted::AtLeast(12.0),
        figures: |all| each(all, |compared| udp(compared, 1472)),
    },
    Target {
        says: "fast rate ÷ our honest mode's, TCP 128 KiB",
        wanted: Wanted::AtLeast(2.3),
        figures: |all| each(all, |compared| tcp(compared)?.rate_ratio(FAST, DEFAULT)),
    },
    Target {
        says: "fast rate ÷ that of the fastest mode of any peer, TCP 128 KiB",
        wanted: Wanted::AtLeast(1.25),
        figures: |all| {
            each(all, |compared| {
                compared.rate_ratio(FAST, fastest_peer(tcp(compared)?)?)
            })
        },
    },
    Target {
        says: "fast CPU per KiB ÷ netperf's, TCP 128 KiB",
        wanted: Wanted::AtMost(0.333),
        figures: |all| each(all, |compared| tcp(compared)?.cpu_ratio(FAST, NETPERF)),
    },
];

fn udp(compared: &Compared, size: u32) -> Option<Interval> {
    let is_it = compared.case.traffic == Traffic::Udp && compared.case.size == size;
    (is_it && compared.setup == Setup::default()).then(|| compared.rate_ratio(FAST, NETPERF))?
}

fn tcp(compared: &Compared) -> Option<&Compared> {
    (is_fast_tcp(&compared.case) && compared.setup == Setup::default()).then_some(compared)
}

/// The packaged peer with the highest median; the C loop is none.
fn fastest_peer(compared: &Compared) -> Option<&'static str> {
    let rate = |name: &str| {
        let rates = &compared.series(name)?.rates;
        median(&rates.iter().map(|(_, rate)| *rate).collect::<Vec<f64>>())
    };
    let peers = compared.entries.iter().map(|entry| entry.name);
    let peers = peers.filter(|name| !name.starts_with(DEFAULT) && *name != "C loop");
    peers
        .filter_map(|name| Some((name, rate(name)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(name, _)| name)
}
