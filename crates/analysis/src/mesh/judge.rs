//! Which hosts and pairs of a mesh are slower than the others: those whose robust score is low.

use std::collections::BTreeMap;

use bitcost_stats::{Polished, Score, polished};
use bitcost_study::mesh::Mesh;

use super::found::{MeshFindings, Named, PairRun};
use crate::metrics::Metric;

/// The score from which on a host or a pair is named.
pub const SCORE_LEAST: f64 = 7.0;

/// The least effect that is named, as a share: less is of no use to who looks for a fault.
pub const EFFECT_LEAST: f64 = 0.03;

/// The least difference of a pair alone that is named.
pub const PAIR_LEAST: f64 = 0.1;

/// The least deviation of runs that is assumed, as a share of the value: runs of a shaped path can be equal.
const DEVIATION_LEAST: f64 = 0.005;

/// What runs of a mesh show, without anything that is known of its hosts: each host and pair with its score, and what is
/// worse than the others.
pub(super) fn judged(mesh: Mesh, metric: &'static Metric, runs: Vec<PairRun>) -> MeshFindings {
    let mut of = MeshFindings {
        pattern: mesh.pattern.name(),
        mesh,
        metric,
        runs,
        scores: None,
        outliers: Vec::new(),
        suspected: Vec::new(),
        different: Vec::new(),
        missing: Vec::new(),
    };
    let size = [of.mesh.hosts.len(); 2];
    of.scores = polished(&of.entries(), size, DEVIATION_LEAST);
    let Some(scores) = &of.scores else {
        return of;
    };
    let slow = slow_hosts(scores);
    let hosts = slow.values();
    let hosts = hosts.map(|(named, score)| of.outlier(*named, *score));
    let mut found: Vec<_> = hosts.collect();
    let mut suspected = Vec::new();
    for (pair, left) in best_of_pairs(&of, &scores.left) {
        // What a slow host has with others is not the sum of effects where something else is slower still.
        let is_of_slow = slow.contains_key(&pair.0) || slow.contains_key(&pair.1);
        if is_of_slow || !is_low(left, PAIR_LEAST) {
            continue;
        }
        let pair = of.outlier(Named::Pair(pair.0, pair.1), left);
        match pair.runs {
            0 | 1 => suspected.push(pair.named),
            _ => found.push(pair),
        }
    }
    found.sort_by(|a, b| {
        let by_size = b.pct.abs().total_cmp(&a.pct.abs());
        by_size.then(a.named.cmp(&b.named))
    });
    (of.outliers, of.suspected) = (found, suspected);
    of
}

/// Whether something is so much less than the others, and by this share at least.
fn is_low(score: Score, least: f64) -> bool {
    score.score <= -SCORE_LEAST && score.value <= (1.0 - least).ln()
}

/// The hosts with a low score in one role or in both, each with the lower of its effects.
fn slow_hosts(scores: &Polished) -> BTreeMap<usize, (Named, Score)> {
    let low = |score: &Option<Score>| score.filter(|score| is_low(*score, EFFECT_LEAST));
    let both = scores.rows.iter().zip(&scores.columns).enumerate();
    let of = |(host, (row, column)): (usize, (&Option<Score>, &Option<Score>))| {
        let found = match (low(row), low(column)) {
            (Some(a), Some(b)) => (Named::Host(host), if a.value < b.value { a } else { b }),
            (Some(score), None) => (Named::Sender(host), score),
            (None, score) => (Named::Receiver(host), score?),
        };
        Some((host, found))
    };
    both.filter_map(of).collect()
}

/// The rest of each pair: of its run that is least slow, so that one disturbed run of several names no pair.
fn best_of_pairs(of: &MeshFindings, left: &[Score]) -> BTreeMap<(usize, usize), Score> {
    let mut found: BTreeMap<(usize, usize), Score> = BTreeMap::new();
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
    use bitcost_study::mesh::Pattern;

    use super::super::found::Outlier;
    use super::*;
    use crate::metrics::metric;

    /// What a mesh shows whose runs have these values.
    fn found(
        (hosts, pattern, seed): (usize, Pattern, u64),
        mut run: impl FnMut((usize, usize)) -> f64,
    ) -> MeshFindings {
        let mesh = Mesh {
            hosts: (0..hosts).map(|host| format!("n{host}")).collect(),
            pattern,
            ..Mesh::default()
        };
        let runs = mesh
            .groups(seed, 0)
            .concat()
            .into_iter()
            .map(|pair| PairRun {
                pair,
                levels: Vec::new(),
                value: run(pair),
                limiter: None,
            });
        let runs = runs.collect();
        let throughput = metric("throughput_mbps").expect("a metric");
        judged(mesh, throughput, runs)
    }

    /// The hosts that are named in meshes of 64 hosts, of which the first three receive less, where a run varies by 5 % and
    /// one in fifty is 30 % slower: how many of the three, and how many others.
    fn named(slow_by: f64) -> (usize, usize) {
        let (mut hits, mut others) = (0, 0);
        for seed in 0..20 {
            let mut state: u64 = seed;
            let mut uniform = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (state >> 32) as f64 / f64::from(u32::MAX)
            };
            let of = found((64, Pattern::Screen, seed), |(_, receiver)| {
                let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                let slow = if receiver < 3 { 1.0 - slow_by } else { 1.0 };
                let disturbed = if uniform() < 0.02 { 0.7 } else { 1.0 };
                1000.0 * slow * disturbed * (0.05 * normal).exp()
            });
            let is_slow = |outlier: &&Outlier| matches!(outlier.named, Named::Host(host) | Named::Receiver(host) if host < 3 && slow_by > 0.0);
            let right = of.outliers.iter().filter(is_slow).count();
            (hits, others) = (hits + right, others + of.outliers.len() - right);
        }
        (hits, others)
    }

    #[test]
    fn slow_hosts_of_a_screen_are_named_and_hardly_ever_others() {
        let (hits, others) = named(0.3);
        assert!(hits >= 57 && others <= 2, "{hits} of 60, {others} others");
        let (_, others) = named(0.0);
        assert!(others <= 2, "{others} where none is slow");
    }
}
