//! What a mesh shows of its hosts and pairs.

use std::collections::BTreeMap;

use bitcost_model::study::Label;
use bitcost_stats::{Entry, Polished, Score, median, quantile};
use bitcost_study::mesh::Mesh;
use serde::Serialize;

use super::settings::Different;
use crate::explain::Limiter;
use crate::metrics::{Better, Metric};

#[derive(Clone, Debug, PartialEq)]
pub struct PairRun {
    /// The sender and the receiver, by their places among the hosts.
    pub pair: (usize, usize),
    /// The levels of the study's own factors.
    pub levels: Vec<(String, Label)>,
    pub value: f64,
    /// What limited it; absent where that is unknown.
    pub limiter: Option<Limiter>,
}

/// Hosts, by their places among the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// A host, as the sender and as the receiver.
    Host(usize),
    Sender(usize),
    Receiver(usize),
    Pair(usize, usize),
}

impl Named {
    /// What is named in JSON, with the sender and the receiver.
    fn parts(self) -> (&'static str, Option<usize>, Option<usize>) {
        match self {
            Named::Host(host) => ("host", Some(host), Some(host)),
            Named::Sender(host) => ("sender", Some(host), None),
            Named::Receiver(host) => ("receiver", None, Some(host)),
            Named::Pair(sender, receiver) => ("pair", Some(sender), Some(receiver)),
        }
    }

    /// Whether a run of this pair is one of its.
    fn has(self, pair: (usize, usize)) -> bool {
        match self {
            Named::Host(host) => pair.0 == host || pair.1 == host,
            Named::Sender(host) => pair.0 == host,
            Named::Receiver(host) => pair.1 == host,
            Named::Pair(sender, receiver) => pair == (sender, receiver),
        }
    }
}

/// A host or a pair that is slower than the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlier {
    #[serde(skip)]
    pub named: Named,
    kind: &'static str,
    sender: Option<String>,
    receiver: Option<String>,
    /// The difference in per cent of the others: below 0 where the metric is less.
    pub pct: f64,
    /// The difference in robust standard deviations of all hosts, or of all runs of a pair; below 0.
    pub score: f64,
    pub runs: usize,
    /// What limited most of its runs of which that is known; absent where it is known of none.
    pub limiter: Option<String>,
    /// The runs that it limited.
    #[serde(rename = "runs_limited")]
    pub limited: usize,
}

/// A host without any run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    pub host: String,
    pub reason: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct MeshFindings {
    #[serde(skip)]
    pub mesh: Mesh,
    pub metric: &'static Metric,
    pub(super) pattern: &'static str,
    #[serde(skip)]
    pub runs: Vec<PairRun>,
    /// The scores of hosts and runs; absent where too few runs are there.
    #[serde(skip)]
    pub scores: Option<Polished>,
    /// The hosts and pairs that are slower than the others, the slowest first.
    pub outliers: Vec<Outlier>,
    /// Pairs whose only run was slower than those of its hosts with others.
    #[serde(skip)]
    pub suspected: Vec<Named>,
    /// Hosts with settings that the others do not have.
    #[serde(rename = "different_settings")]
    pub different: Vec<Different>,
    pub missing: Vec<Missing>,
}

impl MeshFindings {
    /// The logarithms of the values, of each combination of the study's own levels without its median; a greater
    /// one is better.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let mut of_levels: BTreeMap<&[(String, Label)], Vec<f64>> = BTreeMap::new();
        for run in &self.runs {
            let values = of_levels.entry(&run.levels).or_default();
            values.push(run.value.ln());
        }
        let middle =
            |(levels, values): (_, Vec<f64>)| (levels, median(&values).unwrap_or_default());
        let middles: BTreeMap<_, _> = of_levels.into_iter().map(middle).collect();
        let entry = |run: &PairRun| Entry {
            row: run.pair.0,
            column: run.pair.1,
            value: self.sign() * (run.value.ln() - middles[&run.levels[..]]),
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

    /// A difference of logarithms in per cent of the metric.
    fn pct(&self, log: f64) -> f64 {
        100.0 * ((self.sign() * log).exp() - 1.0)
    }

    fn sign(&self) -> f64 {
        match self.metric.better {
            Better::Lower => -1.0,
            _ => 1.0,
        }
    }

    /// An outlier, with what limited most of its runs.
    pub(super) fn outlier(&self, named: Named, score: Score) -> Outlier {
        let runs: Vec<_> = self.runs.iter().filter(|run| named.has(run.pair)).collect();
        let mut limiters: BTreeMap<&str, Vec<&Limiter>> = BTreeMap::new();
        for limiter in runs.iter().filter_map(|run| run.limiter.as_ref()) {
            limiters.entry(limiter.title()).or_default().push(limiter);
        }
        let most = limiters.into_iter().max_by_key(|(_, of)| of.len());
        let is_one = |of: &[&Limiter]| of.iter().all(|limiter| *limiter == of[0]);
        let words = most.as_ref().map(|(title, of)| match is_one(of) {
            true => of[0].to_string(),
            false => (*title).to_owned(),
        });
        let (kind, sender, receiver) = named.parts();
        let host = |place: usize| self.mesh.hosts[place].clone();
        Outlier {
            named,
            kind,
            sender: sender.map(host),
            receiver: receiver.map(host),
            pct: self.pct(score.value),
            score: score.score,
            runs: runs.len(),
            limiter: words,
            limited: most.map_or(0, |(_, of)| of.len()),
        }
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
