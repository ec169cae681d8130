//! What a mesh shows of its hosts and pairs.

use std::collections::BTreeMap;

use bitcost_model::study::Label;
use bitcost_stats::{Entry, Polished, Score, median, quantile};
use bitcost_study::mesh::Mesh;

use super::outlier::{Named, Outlier};
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

#[derive(Clone, Debug)]
pub struct MeshFindings {
    pub mesh: Mesh,
    pub metric: &'static Metric,
    pub runs: Vec<PairRun>,
    /// The scores of hosts and runs; absent where too few runs are there.
    pub scores: Option<Polished>,
    /// The hosts and pairs that are slower than the others, the slowest first.
    pub outliers: Vec<Outlier>,
    /// Pairs whose only run was slower than those of its hosts with others.
    pub suspected: Vec<Named>,
    /// Hosts with settings that the others do not have.
    pub different: Vec<Different>,
    /// The hosts without any run, with the reason.
    pub missing: Vec<(String, String)>,
}

impl MeshFindings {
    /// The logarithms of the values, of each combination of the study's own levels without its median; a greater
    /// one is better.
    pub(super) fn entries(&self) -> Vec<Entry> {
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
                value: self.sign() * (run.value.ln() - middle.map_or(0.0, |(_, middle)| *middle)),
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

    /// A difference of logarithms in per cent of the metric.
    pub fn pct(&self, log: f64) -> f64 {
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
