//! Which hosts and pairs of a mesh are slower than the others.

use std::collections::BTreeMap;

use bitcost_stats::{Left, RowEffect, TwoWay, holm, two_way};
use bitcost_study::mesh::Mesh;

use super::found::{MeshFindings, PairRun};
use super::outlier::{Named, Outlier};
use crate::metrics::Metric;

/// The level at which a mesh in which all hosts are alike has any outlier (Holm's correction).
const LEVEL: f64 = 0.01;

/// The least effect that is named, as a share: less is of no use to who looks for a fault.
const EFFECT_LEAST: f64 = 0.03;

/// The least difference of a pair alone that is named.
const PAIR_LEAST: f64 = 0.1;

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

/// Fits the model to all runs, and names what is slower than the others.
fn judge(of: &mut MeshFindings) {
    let hosts = of.mesh.hosts.len();
    of.model = two_way(&of.entries(), [hosts; 2], DEVIATION_LEAST);
    let found = of.model.as_ref().map(|model| outliers(of, model));
    (of.outliers, of.suspected) = found.unwrap_or_default();
}

/// The outliers that a model of the runs shows, the greatest difference first, and the pairs with a single run that may be
/// some.
fn outliers(of: &MeshFindings, model: &TwoWay) -> (Vec<Outlier>, Vec<(usize, usize)>) {
    let hosts = 0..of.mesh.hosts.len();
    let effects = |side: &[Option<RowEffect>]| -> Vec<(usize, RowEffect)> {
        let all = hosts.clone().zip(side);
        all.filter_map(|(host, effect)| Some((host, (*effect)?)))
            .collect()
    };
    let (senders, receivers, pairs) = (
        effects(&model.rows),
        effects(&model.columns),
        pairs(of, &model.left),
    );
    let of_hosts = senders
        .iter()
        .chain(&receivers)
        .map(|(_, effect)| effect.chance);
    let chances: Vec<f64> = of_hosts
        .chain(pairs.values().map(|left| left.chance))
        .collect();
    let significant = holm(&chances, LEVEL);
    let is_slow = |effect: &RowEffect| effect.value < (1.0 - EFFECT_LEAST).ln();
    let slow = |of: &[(usize, RowEffect)], from: usize| -> BTreeMap<usize, RowEffect> {
        let named = of.iter().zip(&significant[from..]);
        let named =
            named.filter(|((_, effect), is_significant)| **is_significant && is_slow(effect));
        named.map(|(effect, _)| *effect).collect()
    };
    let (slow_senders, slow_receivers) = (slow(&senders, 0), slow(&receivers, senders.len()));
    let mut found = Vec::new();
    for host in hosts {
        let (sends, receives) = (slow_senders.get(&host), slow_receivers.get(&host));
        let (named, effect) = match (sends, receives) {
            (Some(a), Some(b)) => (Named::Host(host), if a.value < b.value { a } else { b }),
            (Some(effect), None) => (Named::Sender(host), effect),
            (None, Some(effect)) => (Named::Receiver(host), effect),
            (None, None) => continue,
        };
        let bounds = Some((of.pct(effect.low), of.pct(effect.high)));
        found.push(of.outlier(named, of.pct(effect.value), bounds));
    }
    // What a slow host has with others is not the sum of effects where something else is slower still.
    let is_named =
        |host: &usize| slow_senders.contains_key(host) || slow_receivers.contains_key(host);
    let judged = pairs
        .iter()
        .zip(&significant[senders.len() + receivers.len()..]);
    let mut suspected = Vec::new();
    for ((pair, left), is_significant) in judged {
        let is_of_named = is_named(&pair.0) || is_named(&pair.1);
        if !*is_significant || is_of_named || left.value >= (1.0 - PAIR_LEAST).ln() {
            continue;
        }
        match of.runs.iter().filter(|run| run.pair == *pair).count() {
            0 | 1 => suspected.push(*pair),
            _ => found.push(of.outlier(Named::Pair(pair.0, pair.1), of.pct(left.value), None)),
        }
    }
    found.sort_by(|a, b| {
        b.pct
            .abs()
            .total_cmp(&a.pct.abs())
            .then(a.named.cmp(&b.named))
    });
    (found, suspected)
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
