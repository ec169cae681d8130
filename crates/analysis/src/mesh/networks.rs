//! The network of a cluster's nodes in comparison with that of its pods, between the same hosts.

use std::collections::BTreeMap;

use bitcost_model::study::Label;
use bitcost_stats::{Interval, Scale, duet_change, median};
use bitcost_study::mesh::{NETWORK, Network};

use super::found::MeshFindings;

/// What the network of the nodes is to that of pods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Networks {
    /// The metric with the network of the nodes ÷ with that of pods, over all pairs, with its 95 % interval.
    pub ratio: Interval,
    /// The pairs with runs in both.
    pub pairs: usize,
}

impl MeshFindings {
    /// The comparison of both networks; absent where runs are in one, or fewer than two pairs have runs in both.
    pub fn networks(&self) -> Option<Networks> {
        let mut values: BTreeMap<(usize, usize), [Vec<f64>; 2]> = BTreeMap::new();
        let is_of = |label: &Label, network: Network| label.to_string() == network.name();
        for run in &self.runs {
            let (_, label) = run.levels.iter().find(|(name, _)| name == NETWORK)?;
            let [pod, host] = values.entry(run.pair).or_default();
            if is_of(label, Network::Pod) {
                pod.push(run.value);
            } else {
                host.push(run.value);
            }
        }
        let both = |[pod, host]: &[Vec<f64>; 2]| Some((median(pod)?, median(host)?));
        let pairs: Vec<(f64, f64)> = values.values().filter_map(both).collect();
        let change = duet_change(&pairs, Scale::Ratio)?;
        Some(Networks {
            ratio: change.interval,
            pairs: pairs.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{PairRun, judged};
    use crate::metrics::metric;
    use bitcost_study::mesh::{Mesh, Pattern};

    #[test]
    fn networks_are_compared_between_the_same_hosts() {
        let mesh = Mesh {
            hosts: (1..=4).map(|host| format!("n{host}")).collect(),
            written: Vec::new(),
            is_lab: false,
            pattern: Pattern::Ring,
            is_concurrent: false,
            networks: vec![Network::Pod, Network::Host],
        };
        let run = |place: usize, network: Network, value: f64| PairRun {
            pair: (place, (place + 1) % 4),
            levels: vec![(NETWORK.to_owned(), Label::Text(network.name().to_owned()))],
            value,
            lost: None,
            cost: [None; 2],
            limiter: None,
        };
        let mut runs: Vec<PairRun> = (0..4)
            .map(|place| run(place, Network::Pod, 100.0 * (place + 1) as f64))
            .collect();
        let throughput = metric("throughput_mbps").expect("a metric");
        let of = |runs: &[PairRun]| judged(mesh.clone(), throughput, runs.to_vec()).networks();
        assert_eq!(of(&runs), None);
        runs.extend((0..3).map(|place| run(place, Network::Host, 150.0 * (place + 1) as f64)));
        let found = of(&runs).expect("a comparison");
        assert_eq!(found.pairs, 3);
        assert!((found.ratio.value - 1.5).abs() < 1e-9, "{found:?}");
    }
}
