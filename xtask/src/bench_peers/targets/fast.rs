//! Targets of what `--mode auto` finds.

use bitcost_stats::Interval;

use super::honest::NETPERF;
use super::target::{Target, Wanted, place};
use crate::bench_peers::cases::Traffic;
use crate::bench_peers::field::Setup;
use crate::bench_peers::flavours::{CHEAP, DEFAULT, FAST};
use crate::bench_peers::results::{Compared, Side};

/// The rows.
pub const TARGETS: &[Target] = &[
    Target {
        says: "auto datagrams/s received ÷ netperf's, UDP 64 B",
        wanted: Wanted::AtLeast(40.0),
        figures: |all| udp(all, 64),
    },
    Target {
        says: "auto datagrams/s received ÷ netperf's, UDP 1472 B",
        wanted: Wanted::AtLeast(12.0),
        figures: |all| udp(all, 1472),
    },
    Target {
        says: "auto rate ÷ that of the fastest mode of any peer in its faster regime, TCP 1 KiB",
        wanted: Wanted::AtLeast(5.0),
        figures: |all| tcp(all, Some(1024), FAST, Compared::rate_ratio),
    },
    Target {
        says: "the same, TCP 8 KiB",
        wanted: Wanted::AtLeast(3.0),
        figures: |all| tcp(all, Some(8192), FAST, Compared::rate_ratio),
    },
    Target {
        says: "the same, TCP 128 KiB",
        wanted: Wanted::AtLeast(1.5),
        figures: |all| tcp(all, Some(131_072), FAST, Compared::rate_ratio),
    },
    Target {
        says: "auto for cost, CPU per KiB ÷ that peer's",
        wanted: Wanted::AtMost(0.5),
        figures: |all| tcp(all, None, CHEAP, Compared::cpu_ratio),
    },
];

type Ratio = fn(&Compared, Side, Side) -> Option<Interval>;

/// The ratio in the cases of a transport and a size that the searches are in.
fn ratios<'a>(
    all: &'a [Compared],
    (traffic, size, ours): (Traffic, Option<u32>, &str),
    rival: impl Fn(&'a Compared) -> Option<Side<'a>>,
    ratio: Ratio,
) -> Vec<(String, Interval)> {
    let of = |compared: &'a Compared| {
        let rival = rival(compared)?;
        let found = ratio(compared, fastest(compared, |name| name == ours)?, rival)?;
        let place = format!("{}, {}{}", place(compared), rival.0, rival.1.says());
        Some((place, found))
    };
    let is_it = |compared: &&Compared| {
        compared.setup == Setup::default()
            && compared.case.traffic == traffic
            && size.is_none_or(|size| size == compared.case.size)
    };
    all.iter().filter(is_it).filter_map(of).collect()
}

fn udp(all: &[Compared], size: u32) -> Vec<(String, Interval)> {
    let netperf = |compared| fastest(compared, |name| name == NETPERF);
    ratios(
        all,
        (Traffic::Udp, Some(size), FAST),
        netperf,
        Compared::rate_ratio,
    )
}

/// Against the packaged peers; the C loop is none.
fn tcp(all: &[Compared], size: Option<u32>, ours: &str, ratio: Ratio) -> Vec<(String, Interval)> {
    let is_peer = |name: &str| !name.starts_with(DEFAULT) && name != "C loop";
    let peer = |compared| fastest(compared, is_peer);
    ratios(all, (Traffic::Tcp, size, ours), peer, ratio)
}

/// The contender and its regime with the highest median, of those with these names.
fn fastest(compared: &Compared, is_of: impl Fn(&str) -> bool) -> Option<Side<'_>> {
    let names = compared.entries.iter().map(|entry| entry.name.as_str());
    let sides = names.filter(|name| is_of(name)).flat_map(|name| {
        let regimes = compared.regimes(name).into_iter();
        regimes.map(move |regime| (name, regime))
    });
    let rate = |side| compared.middle(side, |figure| Some(figure.per_second));
    let rated = sides.filter_map(|side| Some((side, rate(side)?)));
    rated
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(side, _)| side)
}
