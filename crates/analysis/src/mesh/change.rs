//! What changed between two executions of a mesh: the ratio of each pair's values has the model of a mesh.

use std::collections::BTreeMap;

use bitcost_model::study::Label;
use bitcost_stats::median;

use super::found::{MeshFindings, PairRun};
use super::judge::judged;
use super::outlier::{Named, Outlier, Worse};

/// What changed between two executions.
#[derive(Clone, Debug)]
pub struct MeshChange {
    /// The ratios as a mesh, whose outliers became worse in comparison with the others.
    pub ratios: MeshFindings,
    /// What became better in comparison with the others; its differences are above 0 where the metric is more.
    pub better: Vec<Outlier>,
    /// The median change of all pairs, in per cent.
    pub median_pct: f64,
    /// Hosts and pairs that only the old, and only the new execution names.
    pub named_once: [Vec<String>; 2],
}

/// A pair by the names of its hosts, with the levels of the study's own factors.
type Key = (String, String, Vec<(String, Label)>);

fn values(of: &MeshFindings) -> BTreeMap<Key, (f64, &PairRun)> {
    let mut all: BTreeMap<Key, Vec<&PairRun>> = BTreeMap::new();
    for run in &of.runs {
        let host = |host: usize| of.mesh.hosts[host].clone();
        let key = (host(run.pair.0), host(run.pair.1), run.levels.clone());
        all.entry(key).or_default().push(run);
    }
    let mut found = BTreeMap::new();
    for (key, runs) in all {
        let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
        if let Some(middle) = median(&values) {
            found.insert(key, (middle, runs[0]));
        }
    }
    found
}

/// The changes of the pairs that both executions have; absent where they compare other metrics, or have no pair in common.
pub fn changed(old: &MeshFindings, new: &MeshFindings) -> Option<MeshChange> {
    if old.metric.name != new.metric.name {
        return None;
    }
    let was = values(old);
    let ratio = |(key, (value, run)): (Key, (f64, &PairRun))| {
        Some(PairRun {
            value: value / was.get(&key)?.0,
            lost: None,
            cost: [None; 2],
            ..run.clone()
        })
    };
    let runs: Vec<PairRun> = values(new).into_iter().filter_map(ratio).collect();
    let middle = median(&runs.iter().map(|run| run.value).collect::<Vec<_>>())?;
    let inverse = |run: &PairRun| PairRun {
        value: 1.0 / run.value,
        ..run.clone()
    };
    let inverse = runs.iter().map(inverse).collect();
    let better = judged(new.mesh.clone(), new.metric, inverse).outliers;
    let upright = |pct: f64| 100.0 * (1.0 / (1.0 + pct / 100.0) - 1.0);
    let turned = |outlier: Outlier| match outlier.worse {
        Worse::Slow { pct, interval } => Outlier {
            worse: Worse::Slow {
                pct: upright(pct),
                interval: interval.map(|(low, high)| (upright(high), upright(low))),
            },
            ..outlier
        },
        Worse::Loses { .. } => outlier,
    };
    let names = |of: &MeshFindings| -> Vec<String> {
        let named = of.outliers.iter().map(|outlier| outlier.named);
        named.map(|named: Named| of.name(named)).collect()
    };
    let (then, now) = (names(old), names(new));
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        let only = these.iter().filter(|name| !those.contains(name));
        only.cloned().collect()
    };
    Some(MeshChange {
        named_once: [only(&then, &now), only(&now, &then)],
        better: better.into_iter().map(turned).collect(),
        median_pct: 100.0 * (middle - 1.0),
        ratios: judged(new.mesh.clone(), new.metric, runs),
    })
}
