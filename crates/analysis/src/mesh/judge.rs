//! Which hosts and pairs of a mesh are slower than the others.

use std::collections::{BTreeMap, BTreeSet};

use bitcost_stats::{Entry, Left, RowEffect, TwoWay, holm, two_way};
use bitcost_study::mesh::Mesh;

use super::found::{MeshFindings, PairRun};
use super::outlier::{Named, Outlier, Worse};
use crate::explain::PATH_LOSS;
use crate::metrics::Metric;

/// The level at which a mesh in which all hosts are alike has any outlier (Holm's correction).
const LEVEL: f64 = 0.01;

/// The least effect that is named, as a share: less is of no use to who looks for a fault.
const EFFECT_LEAST: f64 = 0.03;

/// The least difference of a pair alone that is named.
const PAIR_LEAST: f64 = 0.1;

/// The least share of lost data of a host's median run that is named, and in comparison with the others.
const LOSS_LEAST: f64 = 0.005;
const LOSS_RATIO: f64 = 3.0;

/// Added to a share of lost data, so that none has a logarithm, too.
const LOSS_ADDED: f64 = 0.001;

/// The least deviation of runs that is assumed, as a share of the value: runs of a shaped path can be equal.
const DEVIATION_LEAST: f64 = 0.005;

/// What runs of a mesh show, without anything that is known of its hosts.
pub fn judged(mesh: Mesh, metric: &'static Metric, runs: Vec<PairRun>) -> MeshFindings {
    let mut of = MeshFindings {
        mesh,
        metric,
        runs,
        model: None,
        outliers: Vec::new(),
        suspected: Vec::new(),
        different: Vec::new(),
        missing: Vec::new(),
        followed: Vec::new(),
    };
    judge(&mut of);
    of
}

/// Adds runs of a second stage.
pub fn follow(of: &mut MeshFindings, more: Vec<PairRun>) {
    let hosts = more.iter().flat_map(|run| [run.pair.0, run.pair.1]);
    let mut hosts: Vec<usize> = hosts.collect();
    hosts.sort_unstable();
    hosts.dedup();
    of.followed = hosts;
    of.runs.extend(more);
    judge(of);
}

/// Fits the model to all runs, and names what is worse than the others.
fn judge(of: &mut MeshFindings) {
    let hosts = of.mesh.hosts.len();
    of.model = two_way(&of.entries(), [hosts; 2], DEVIATION_LEAST);
    let found = of.model.as_ref().map(|model| outliers(of, model));
    (of.outliers, of.suspected) = found.unwrap_or_default();
}

/// Effects of hosts, by their places: as senders and as receivers.
type Effects = [Vec<(usize, RowEffect)>; 2];

fn effects(model: &TwoWay) -> Effects {
    [&model.rows, &model.columns].map(|side| {
        let all = side.iter().enumerate();
        all.filter_map(|(host, effect)| Some((host, (*effect)?)))
            .collect()
    })
}

/// The model of the logarithm of the share of data that is lost; absent where too few runs count it.
fn losses(of: &MeshFindings) -> Option<Effects> {
    let entry = |run: &PairRun| {
        Some(Entry {
            row: run.pair.0,
            column: run.pair.1,
            value: -(run.lost? + LOSS_ADDED).ln(),
        })
    };
    let entries: Vec<Entry> = of.runs.iter().filter_map(entry).collect();
    let model = two_way(&entries, [of.mesh.hosts.len(); 2], DEVIATION_LEAST)?;
    Some(effects(&model))
}

/// The outliers that a model of the runs shows, the greatest difference first, and the pairs with a single run that may be
/// some.
fn outliers(of: &MeshFindings, model: &TwoWay) -> (Vec<Outlier>, Vec<(usize, usize)>) {
    let (speed, loss) = (effects(model), losses(of).unwrap_or_default());
    let pairs = pairs(of, &model.left);
    let of_hosts = speed.iter().chain(&loss).flatten();
    let chances = of_hosts.map(|(_, effect)| effect.chance);
    let chances: Vec<f64> = chances
        .chain(pairs.values().map(|left| left.chance))
        .collect();
    let mut significant = holm(&chances, LEVEL).into_iter();
    let mut named = |side: &[(usize, RowEffect)], is_worse: &dyn Fn(usize, &RowEffect) -> bool| {
        let judged = side.iter().zip(significant.by_ref());
        let worse = judged.filter(|((host, effect), is)| *is && is_worse(*host, effect));
        worse
            .map(|(effect, _)| *effect)
            .collect::<BTreeMap<usize, RowEffect>>()
    };
    let is_slow = |_, effect: &RowEffect| effect.value < (1.0 - EFFECT_LEAST).ln();
    let loses = |named| {
        let [own, others] = of.lost(named).unwrap_or_default();
        own >= LOSS_LEAST && own >= LOSS_RATIO * others
    };
    let slow = speed.each_ref().map(|side| named(side, &is_slow));
    let [sending, receiving] = &loss;
    let lossy = [
        named(sending, &|host, _| loses(Named::Sender(host))),
        named(receiving, &|host, _| loses(Named::Receiver(host))),
    ];
    let mut found: Vec<Outlier> = slow_hosts(of, &slow).collect();
    let is_slow = |host: &usize| slow.iter().any(|side| side.contains_key(host));
    let losers = in_roles(&lossy).filter(|(host, ..)| !is_slow(host));
    found.extend(losers.filter_map(|(_, named, _)| {
        let [pct, others_pct] = of.lost(named)?.map(|share| 100.0 * share);
        let outlier = of.outlier(named, Worse::Loses { pct, others_pct });
        Some(Outlier {
            limiter: Some(PATH_LOSS.title.to_owned()),
            limited: outlier.runs,
            ..outlier
        })
    }));
    // What a slow host has with others is not the sum of effects where something else is slower still.
    let is_named = |host: &usize| {
        slow.iter()
            .chain(&lossy)
            .any(|side| side.contains_key(host))
    };
    let mut suspected = Vec::new();
    for ((pair, left), is_significant) in pairs.iter().zip(significant) {
        let is_of_named = is_named(&pair.0) || is_named(&pair.1);
        if !is_significant || is_of_named || left.value >= (1.0 - PAIR_LEAST).ln() {
            continue;
        }
        let worse = Worse::Slow {
            pct: of.pct(left.value),
            interval: None,
        };
        match of.runs.iter().filter(|run| run.pair == *pair).count() {
            0 | 1 => suspected.push(*pair),
            _ => found.push(of.outlier(Named::Pair(pair.0, pair.1), worse)),
        }
    }
    let size = |outlier: &Outlier| match outlier.worse {
        Worse::Slow { pct, .. } => (false, -pct.abs()),
        Worse::Loses { pct, .. } => (true, -pct),
    };
    found.sort_by(|a, b| {
        let (a_size, b_size) = (size(a), size(b));
        let by_size = a_size.0.cmp(&b_size.0).then(a_size.1.total_cmp(&b_size.1));
        by_size.then(a.named.cmp(&b.named))
    });
    (found, suspected)
}

/// The hosts that are worse in one role or in both, with the greater of their effects.
fn in_roles(
    worse: &[BTreeMap<usize, RowEffect>; 2],
) -> impl Iterator<Item = (usize, Named, RowEffect)> {
    let [senders, receivers] = worse;
    let hosts: BTreeSet<usize> = senders.keys().chain(receivers.keys()).copied().collect();
    hosts.into_iter().filter_map(|host| {
        let (named, effect) = match (senders.get(&host), receivers.get(&host)) {
            (Some(a), Some(b)) => (Named::Host(host), if a.value < b.value { a } else { b }),
            (Some(effect), None) => (Named::Sender(host), effect),
            (None, effect) => (Named::Receiver(host), effect?),
        };
        Some((host, named, *effect))
    })
}

fn slow_hosts(
    of: &MeshFindings,
    slow: &[BTreeMap<usize, RowEffect>; 2],
) -> impl Iterator<Item = Outlier> {
    in_roles(slow).map(|(_, named, effect)| {
        let worse = Worse::Slow {
            pct: of.pct(effect.value),
            interval: Some((of.pct(effect.low), of.pct(effect.high))),
        };
        of.outlier(named, worse)
    })
}

/// The residual of each pair: of its run that is least slow, so that one disturbed run of several names no pair.
fn pairs(of: &MeshFindings, left: &[Left]) -> BTreeMap<(usize, usize), Left> {
    let mut found: BTreeMap<(usize, usize), Left> = BTreeMap::new();
    for (run, left) in of.runs.iter().zip(left) {
        let known = found.entry(run.pair).or_insert(*left);
        if left.value > known.value {
            *known = *left;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use bitcost_study::mesh::{Network, Pattern};

    use super::*;
    use crate::metrics::metric;

    /// Eight equally fast hosts, of which the third one loses this share of what it receives.
    fn found(lost: f64) -> MeshFindings {
        let mesh = Mesh {
            hosts: (0..8).map(|host| format!("n{host}")).collect(),
            written: Vec::new(),
            is_lab: false,
            pattern: Pattern::AllPairs,
            is_concurrent: false,
            networks: vec![Network::Pod],
        };
        let run = |pair: (usize, usize)| {
            let other = (3 * pair.0 + 5 * pair.1) % 7;
            PairRun {
                pair,
                levels: Vec::new(),
                value: 1000.0 + other as f64,
                lost: Some(if pair.1 == 3 {
                    lost
                } else {
                    0.0002 * (other % 3) as f64
                }),
                cost: [None; 2],
                limiter: None,
            }
        };
        let runs = mesh.groups(1, 0).concat().into_iter().map(run).collect();
        judged(mesh, metric("throughput_mbps").expect("a metric"), runs)
    }

    #[test]
    fn a_host_that_loses_data_and_is_as_fast_is_named() {
        let outliers = found(0.01).outliers;
        let [lossy] = &outliers[..] else {
            panic!("{outliers:?}");
        };
        assert_eq!(lossy.named, Named::Receiver(3));
        assert_eq!(lossy.limiter.as_deref(), Some("path loss"));
        assert!(
            matches!(lossy.worse, Worse::Loses { pct, others_pct } if pct == 1.0 && others_pct < 0.05),
            "{lossy:?}"
        );
        assert_eq!(found(0.002).outliers, []);
    }
}
