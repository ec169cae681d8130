//! The targets of bitcost: a bound for a figure each, and the verdicts on them.

use bitcost_model::conditions::Workload;
use bitcost_stats::{Interval, geometric_interval, median_interval};

use super::figure::{Figure, REGIMES, Regime};
use super::ours::{CHEAP, DEFAULT, FAST, SPINNING, TIMED};
use super::results::{Compared, SEED, Side};

const C_LOOP: &str = "C loop";
const NETPERF: &str = "netperf";
/// Peers at their defaults; netperf is held to its own target of UDP.
const PEERS: [&str; 4] = ["iperf3", "nuttcp", "iperf2", NETPERF];

#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    AtLeast(f64),
    AtMost(f64),
}

use Wanted::{AtLeast, AtMost};

/// Figures, each with the name of its case.
type Figures = Vec<(String, Interval)>;

/// One target.
pub struct Target {
    /// The name of the figure, for people.
    pub title: &'static str,
    pub wanted: Wanted,
    /// The figure in each case that has it.
    figures: fn(&[Compared]) -> Figures,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Met,
    /// The value does not keep the bound, but its interval reaches to the bound.
    CannotTell,
    /// Neither the value nor any other value of its interval keeps the bound.
    Missed,
}

/// One target in one case.
pub struct Finding {
    pub target: &'static Target,
    pub case: String,
    pub found: Interval,
    pub verdict: Verdict,
}

const fn target(
    title: &'static str,
    wanted: Wanted,
    figures: fn(&[Compared]) -> Figures,
) -> Target {
    Target {
        title,
        wanted,
        figures,
    }
}

const TARGETS: &[Target] = &[
    // Programs that make the same calls.
    target("rate ÷ the C loop's, same calls", AtLeast(0.99), |all| {
        ratios(all, C_LOOP, Compared::rate_ratio)
    }),
    target(
        "CPU per KiB ÷ the C loop's, same calls",
        AtMost(1.01),
        |all| ratios(all, C_LOOP, Compared::cpu_ratio),
    ),
    target("rate ÷ netperf's, same calls", AtLeast(1.0), |all| {
        ratios(all, NETPERF, Compared::rate_ratio)
    }),
    // Peers at their defaults. The C loop has about a peer's figure: one call for each datagram leaves nothing to gain.
    target(
        "UDP datagrams/s received ÷ a peer's, geometric mean over the sizes, defaults of both",
        AtLeast(1.0),
        over_sizes,
    ),
    target(
        "rate ÷ a peer's in the same regime, defaults of both",
        AtLeast(0.97),
        |all| {
            let of = |peer: &&str| {
                let found = each(all, |of, regime| {
                    let is_usual = of.is_usual();
                    is_usual.then(|| of.rate_ratio((DEFAULT, regime), (*peer, regime)))?
                });
                let named = |(place, ratio)| (format!("{place}, {peer}"), ratio);
                found.into_iter().map(named).collect::<Vec<_>>()
            };
            PEERS.iter().flat_map(of).collect()
        },
    ),
    // What `--mode auto` finds.
    target(
        "auto datagrams/s received ÷ netperf's, UDP 64 B",
        AtLeast(40.0),
        |all| fast_udp(all, 64),
    ),
    target(
        "auto datagrams/s received ÷ netperf's, UDP 1472 B",
        AtLeast(12.0),
        |all| fast_udp(all, 1472),
    ),
    target(
        "auto rate ÷ that of the fastest mode of any peer in its faster regime, TCP 1 KiB",
        AtLeast(5.0),
        |all| fast_tcp(all, Some(1024), FAST, Compared::rate_ratio),
    ),
    target("the same, TCP 8 KiB", AtLeast(3.0), |all| {
        fast_tcp(all, Some(8192), FAST, Compared::rate_ratio)
    }),
    target("the same, TCP 128 KiB", AtLeast(1.5), |all| {
        fast_tcp(all, Some(131_072), FAST, Compared::rate_ratio)
    }),
    target(
        "auto for cost, CPU per KiB ÷ that peer's",
        AtMost(0.5),
        |all| fast_tcp(all, None, CHEAP, Compared::cpu_ratio),
    ),
    // Requests and responses.
    target("transactions/s, spinning ÷ blocking", AtLeast(1.3), |all| {
        to_default(all, SPINNING)
    }),
    target(
        "transactions/s, times recorded ÷ not",
        AtLeast(0.98),
        |all| to_default(all, TIMED),
    ),
    // Pacing.
    target(
        "rate off what was asked, in %, 1 Gbit/s",
        AtMost(0.1),
        |all| {
            each(all, |compared, regime| {
                let asked = compared.case.rate_bps? as f64 / 8.0 / f64::from(compared.case.size);
                let off = |figure: &Figure| Some((figure.per_second / asked - 1.0).abs() * 100.0);
                middle(compared, regime, off)
            })
        },
    ),
    target(
        "CPU of pacing itself, in % of a CPU, 1 Gbit/s, 1024 B",
        AtMost(10.0),
        |all| {
            each(all, |compared, regime| {
                let own = |figure: &Figure| figure.pacing_cpu_pct;
                (compared.case.size == 1024).then(|| middle(compared, regime, own))?
            })
        },
    ),
];

/// Every target that the measurements allow to judge.
pub fn judge(all: &[Compared]) -> Vec<Finding> {
    let finding = |target: &'static Target| {
        let found = (target.figures)(all).into_iter();
        found.map(move |(case, found)| Finding {
            target,
            case,
            found,
            verdict: target.wanted.judge(found),
        })
    };
    TARGETS.iter().flat_map(finding).collect()
}

impl Wanted {
    pub fn label(self) -> String {
        match self {
            AtLeast(bound) => format!("at least {bound}"),
            AtMost(bound) => format!("at most {bound}"),
        }
    }

    fn judge(self, found: Interval) -> Verdict {
        let keeps = |value: f64| match self {
            AtLeast(bound) => value >= bound,
            AtMost(bound) => value <= bound,
        };
        let best = match self {
            AtLeast(_) => found.high,
            AtMost(_) => found.low,
        };
        match (keeps(found.value), best.is_some_and(keeps)) {
            (true, _) => Verdict::Met,
            (false, true) => Verdict::CannotTell,
            (false, false) => Verdict::Missed,
        }
    }
}

impl Verdict {
    pub fn label(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::CannotTell => "cannot tell",
            Verdict::Missed => "missed",
        }
    }
}

/// The ratio of one figure of two sides.
type Ratio = fn(&Compared, Side, Side) -> Option<Interval>;

/// The figure of each case that has it, in each regime that has it.
fn each(all: &[Compared], figure: impl Fn(&Compared, Regime) -> Option<Interval>) -> Figures {
    let of = |compared| {
        let named = |regime: Regime| {
            let place = format!("{}{}", place(compared), regime.label());
            Some((place, figure(compared, regime)?))
        };
        REGIMES.into_iter().filter_map(named).collect::<Vec<_>>()
    };
    all.iter().flat_map(of).collect()
}

/// The case, with its setup if that is not the usual one.
fn place(Compared { setup, case, .. }: &Compared) -> String {
    let cpu = if setup.one_cpu { ", one CPU" } else { "" };
    let offloads = if setup.offloads_off {
        ", offloads off"
    } else {
        ""
    };
    format!("{}{cpu}{offloads}", case.name())
}

/// Our default to a rival.
fn ratios(all: &[Compared], rival: &str, ratio: Ratio) -> Figures {
    each(all, |of, regime| {
        ratio(of, (DEFAULT, regime), (rival, regime))
    })
}

/// Another of our contenders to our default, in the usual setup.
fn to_default(all: &[Compared], ours: &str) -> Figures {
    each(all, |of, regime| {
        of.is_usual()
            .then(|| of.rate_ratio((ours, regime), (DEFAULT, regime)))?
    })
}

/// Each peer's figure over all sizes of UDP in the usual setup.
fn over_sizes(all: &[Compared]) -> Figures {
    let of_peer = |peer: &'static str| {
        let is_it = |of: &&Compared| of.is_usual() && of.case.traffic == Workload::UdpStream;
        let pair = |compared: &Compared| {
            let [ours, theirs] = [DEFAULT, peer].map(|name| compared.rates((name, Regime::Any)));
            (!ours.is_empty() && !theirs.is_empty()).then_some((ours, theirs))
        };
        let pairs: Vec<_> = all.iter().filter(is_it).filter_map(pair).collect();
        let sides: Vec<_> = pairs
            .iter()
            .map(|(ours, theirs)| (ours.as_slice(), theirs.as_slice()))
            .collect();
        let name = format!("udp, {} sizes, {peer}", sides.len());
        Some((name, geometric_interval(&sides, SEED)?))
    };
    PEERS[..3].iter().copied().filter_map(of_peer).collect()
}

/// The ratio of the fastest regime of `ours` to the fastest rival that `is_rival` names, in the cases of a transport and a size.
fn fast(
    all: &[Compared],
    (traffic, size, ours): (Workload, Option<u32>, &str),
    is_rival: impl Fn(&str) -> bool,
    ratio: Ratio,
) -> Figures {
    let of = |compared: &Compared| {
        let rival = fastest(compared, &is_rival)?;
        let found = ratio(compared, fastest(compared, |name| name == ours)?, rival)?;
        let place = format!("{}, {}{}", place(compared), rival.0, rival.1.label());
        Some((place, found))
    };
    let is_it = |compared: &&Compared| {
        let case = &compared.case;
        compared.is_usual() && case.traffic == traffic && size.is_none_or(|size| size == case.size)
    };
    all.iter().filter(is_it).filter_map(of).collect()
}

fn fast_udp(all: &[Compared], size: u32) -> Figures {
    let is_netperf = |name: &str| name == NETPERF;
    fast(
        all,
        (Workload::UdpStream, Some(size), FAST),
        is_netperf,
        Compared::rate_ratio,
    )
}

/// Against the packaged peers; the C loop is none.
fn fast_tcp(all: &[Compared], size: Option<u32>, ours: &str, ratio: Ratio) -> Figures {
    let is_peer = |name: &str| !name.starts_with(DEFAULT) && name != C_LOOP;
    fast(all, (Workload::TcpStream, size, ours), is_peer, ratio)
}

/// The contender and its regime with the highest median, of those with these names.
fn fastest(compared: &Compared, is_of: impl Fn(&str) -> bool) -> Option<Side<'_>> {
    let names = compared.entries.iter().map(|entry| entry.name);
    let sides = names.filter(|name| is_of(name)).flat_map(|name| {
        let regimes = compared.regimes(name).into_iter();
        regimes.map(move |regime| (name, regime))
    });
    let rate = |side| compared.middle(side, |figure| Some(figure.per_second));
    let rated = sides.filter_map(|side| Some((side, rate(side)?)));
    let most = rated.max_by(|a, b| a.1.total_cmp(&b.1));
    most.map(|(side, _)| side)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(value: f64, low: f64, high: f64) -> Interval {
        Interval {
            value,
            low: Some(low),
            high: Some(high),
        }
    }

    #[test]
    fn an_interval_that_reaches_the_bound_cannot_tell() {
        let least = AtLeast(1.0);
        assert_eq!(least.judge(found(1.0, 0.9, 1.1)), Verdict::Met);
        assert_eq!(least.judge(found(0.99, 0.9, 1.0)), Verdict::CannotTell);
        assert_eq!(least.judge(found(0.9, 0.8, 0.99)), Verdict::Missed);
        let most = AtMost(1.01);
        assert_eq!(most.judge(found(1.0, 0.9, 1.1)), Verdict::Met);
        assert_eq!(most.judge(found(1.02, 1.0, 1.1)), Verdict::CannotTell);
        assert_eq!(most.judge(found(1.1, 1.05, 1.2)), Verdict::Missed);
        assert_eq!(most.judge(Interval::alone(1.1)), Verdict::Missed);
    }
}
