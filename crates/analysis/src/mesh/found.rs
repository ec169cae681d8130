//! What a mesh shows of its hosts and pairs.

use std::collections::{BTreeMap, BTreeSet};

use bitcost_model::study::Label;
use bitcost_stats::{Entry, TwoWay, median, quantile};
use bitcost_study::mesh::Mesh;
use bitcost_study::shuffled;

use super::outlier::{Named, Outlier, Worse};
use super::settings::Different;
use crate::explain::Limiter;
use crate::metrics::{Better, Metric};

/// Other hosts with which suspects are measured again, at least.
const CONTROLS_LEAST: usize = 3;

/// Suspects that are measured again, at most.
const SUSPECTS_MOST: usize = 20;

/// A run of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct PairRun {
    /// The sender and the receiver, by their places among the hosts.
    pub pair: (usize, usize),
    /// The levels of the study's own factors.
    pub levels: Vec<(String, Label)>,
    /// The metric.
    pub value: f64,
    /// The share of its data that was lost: retransmitted segments, or datagrams.
    pub lost: Option<f64>,
    /// The CPU time of a KiB at the sender and at the receiver, in µs.
    pub cost: [Option<f64>; 2],
    /// What limited it; absent where that is unknown.
    pub limiter: Option<Limiter>,
}

/// What a mesh shows.
#[derive(Clone, Debug)]
pub struct MeshFindings {
    /// The mesh.
    pub mesh: Mesh,
    /// The metric that is compared.
    pub metric: &'static Metric,
    /// The runs that are used.
    pub runs: Vec<PairRun>,
    /// The model; absent where too few runs are there.
    pub model: Option<TwoWay>,
    /// The hosts and pairs that are slower than the others, the slowest first, and the hosts that lose more data.
    pub outliers: Vec<Outlier>,
    /// Pairs whose only run was slower than those of its hosts with others.
    pub suspected: Vec<(usize, usize)>,
    /// Hosts with settings that the others do not have.
    pub different: Vec<Different>,
    /// The hosts without any run, with the reason.
    pub missing: Vec<(String, String)>,
    /// The hosts that were measured in a second stage.
    pub followed: Vec<usize>,
}

/// The pairs of a second stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Follow {
    /// The hosts.
    pub hosts: Vec<String>,
    /// The pairs, a line each.
    pub lines: String,
}

impl MeshFindings {
    /// The logarithms of the values, of each combination of the study's own levels without its median; a greater
    /// one is better.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let sign = if self.metric.better == Better::Lower {
            -1.0
        } else {
            1.0
        };
        let middle = |levels: &[(String, Label)]| {
            let same = self.runs.iter().filter(|run| run.levels == levels);
            let values: Vec<f64> = same.map(|run| run.value.ln()).collect();
            median(&values).unwrap_or_default()
        };
        let mut middles: Vec<(&[(String, Label)], f64)> = Vec::new();
        for run in &self.runs {
            if !middles.iter().any(|(levels, _)| *levels == run.levels) {
                middles.push((&run.levels, middle(&run.levels)));
            }
        }
        let entry = |run: &PairRun| {
            let middle = middles.iter().find(|(levels, _)| *levels == run.levels);
            Entry {
                row: run.pair.0,
                column: run.pair.1,
                value: sign * (run.value.ln() - middle.map_or(0.0, |(_, middle)| *middle)),
            }
        };
        self.runs.iter().map(entry).collect()
    }

    /// The median of the metric of a pair; absent where it has no run.
    pub fn value(&self, pair: (usize, usize)) -> Option<f64> {
        let of = self.runs.iter().filter(|run| run.pair == pair);
        median(&of.map(|run| run.value).collect::<Vec<_>>())
    }

    /// The least value, the quartiles and the greatest one of all pairs.
    pub fn spread(&self) -> Option<[f64; 5]> {
        let values: Vec<f64> = self.runs.iter().map(|run| run.value).collect();
        let [a, b, c, d, e] = [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| quantile(&values, part));
        Some([a?, b?, c?, d?, e?])
    }

    /// The pairs of a second stage: all of the slow hosts and as many others, drawn from the seed, and those that are
    /// suspected. Absent where there is neither.
    pub fn pairs_to_follow(&self, seed: u64) -> Option<Follow> {
        let host = |outlier: &Outlier| match outlier.named {
            Named::Sender(host) | Named::Receiver(host) | Named::Host(host) => Some(host),
            Named::Pair(..) => None,
        };
        let mut hosts: Vec<usize> = self.outliers.iter().filter_map(host).collect();
        hosts.truncate(SUSPECTS_MOST);
        if !hosts.is_empty() {
            let is_there = |host: &usize| {
                self.runs
                    .iter()
                    .any(|run| run.pair.0 == *host || run.pair.1 == *host)
            };
            let others = shuffled(self.mesh.hosts.len(), seed, 0).into_iter();
            let controls = others.filter(|host| !hosts.contains(host) && is_there(host));
            let controls: Vec<usize> = controls.take(hosts.len().max(CONTROLS_LEAST)).collect();
            hosts.extend(controls);
        }
        let among = hosts
            .iter()
            .flat_map(|a| hosts.iter().map(move |b| (*a, *b)));
        let suspected = self
            .suspected
            .iter()
            .flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
        let pairs: BTreeSet<(usize, usize)> =
            among.chain(suspected).filter(|(a, b)| a != b).collect();
        let name = |host: usize| self.mesh.hosts[host].as_str();
        let lines = pairs
            .iter()
            .map(|(a, b)| format!("{} {}\n", name(*a), name(*b)));
        let all: BTreeSet<usize> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
        (!pairs.is_empty()).then(|| Follow {
            lines: lines.collect(),
            hosts: all.into_iter().map(|host| name(host).to_owned()).collect(),
        })
    }
}

impl MeshFindings {
    /// A difference of logarithms in per cent of the metric.
    pub(super) fn pct(&self, log: f64) -> f64 {
        let sign = if self.metric.better == Better::Lower {
            -1.0
        } else {
            1.0
        };
        100.0 * ((sign * log).exp() - 1.0)
    }

    /// An outlier, with what limited most of its runs.
    pub(super) fn outlier(&self, named: Named, worse: Worse) -> Outlier {
        let runs: Vec<_> = self.runs.iter().filter(|run| named.has(run.pair)).collect();
        let mut limiters: BTreeMap<&str, Vec<&Limiter>> = BTreeMap::new();
        for limiter in runs.iter().filter_map(|run| run.limiter.as_ref()) {
            limiters.entry(limiter.title()).or_default().push(limiter);
        }
        let most = limiters.into_iter().max_by_key(|(_, of)| of.len());
        let words = most.as_ref().map(|(title, of)| {
            let is_one = of.iter().all(|limiter| *limiter == of[0]);
            if is_one {
                of[0].to_string()
            } else {
                (*title).to_owned()
            }
        });
        Outlier {
            named,
            worse,
            runs: runs.len(),
            limiter: words,
            limited: most.map_or(0, |(_, of)| of.len()),
        }
    }

    /// The median of the share of data that was lost in runs of a host or pair, and in all others.
    pub(super) fn lost(&self, named: Named) -> Option<[f64; 2]> {
        let of = |its: bool| {
            let runs = self.runs.iter().filter(|run| named.has(run.pair) == its);
            median(&runs.filter_map(|run| run.lost).collect::<Vec<_>>())
        };
        Some([of(true)?, of(false)?])
    }

    /// The median of the CPU time of a KiB at both hosts of a pair, in µs; absent where it is not known of both.
    pub fn cost(&self, pair: (usize, usize)) -> Option<f64> {
        let of = self.runs.iter().filter(|run| run.pair == pair);
        median(
            &of.filter_map(|run| Some(run.cost[0]? + run.cost[1]?))
                .collect::<Vec<_>>(),
        )
    }

    /// The medians of the CPU time of a KiB that a host sends and that it receives, in µs.
    pub fn costs(&self, host: usize) -> [Option<f64>; 2] {
        [Named::Sender(host), Named::Receiver(host)].map(|named| {
            let role = usize::from(matches!(named, Named::Receiver(_)));
            let runs = self.runs.iter().filter(|run| named.has(run.pair));
            median(&runs.filter_map(|run| run.cost[role]).collect::<Vec<_>>())
        })
    }

    /// What limited the runs of a pair.
    pub fn limiter(&self, pair: (usize, usize)) -> Option<&Limiter> {
        let mut runs = self.runs.iter().filter(|run| run.pair == pair);
        runs.find_map(|run| run.limiter.as_ref())
    }

    /// `host n07 as receiver`, `pair n03 → n11`.
    pub fn name(&self, named: Named) -> String {
        let host = |host: usize| &self.mesh.hosts[host];
        match named {
            Named::Host(place) => format!("host {} as sender and as receiver", host(place)),
            Named::Sender(place) => format!("host {} as sender", host(place)),
            Named::Receiver(place) => format!("host {} as receiver", host(place)),
            Named::Pair(sender, receiver) => format!("pair {} → {}", host(sender), host(receiver)),
        }
    }
}
