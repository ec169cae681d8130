//! The networks of a cluster in comparison with the first of them, between the same hosts.

use std::collections::BTreeMap;

use bitcost_stats::{Interval, Scale, duet_change, median};
use bitcost_study::mesh::Network;

use super::found::{MeshFindings, PairRun};

/// What a network is to the first of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkRatio {
    /// The network.
    pub network: Network,
    /// The first one.
    pub to: Network,
    /// The metric in it ÷ in the first one, over all pairs, with its 95 % interval.
    pub ratio: Interval,
    /// The same of the CPU time of a KiB at both hosts; absent where it is not known.
    pub cost: Option<Interval>,
    /// The pairs with runs in both.
    pub pairs: usize,
}

impl MeshFindings {
    /// The comparison of each further network with the first one, where two pairs at least have runs in both.
    pub fn networks(&self) -> Vec<NetworkRatio> {
        let Some((to, others)) = self.mesh.networks.split_first() else {
            return Vec::new();
        };
        let of = |(network, place): (&Network, usize)| {
            let (ratio, pairs) = self.ratio(place, |run| Some(run.value))?;
            let cost = self.ratio(place, |run| Some(run.cost[0]? + run.cost[1]?));
            Some(NetworkRatio {
                network: *network,
                to: *to,
                ratio,
                cost: cost.map(|(interval, _)| interval),
                pairs,
            })
        };
        others.iter().zip(1..).filter_map(of).collect()
    }

    /// A figure in the network at this place ÷ in the first one, and the pairs with both.
    fn ratio(
        &self,
        place: usize,
        figure: impl Fn(&PairRun) -> Option<f64>,
    ) -> Option<(Interval, usize)> {
        let mut values: BTreeMap<(usize, usize), [Vec<f64>; 2]> = BTreeMap::new();
        for run in &self.runs {
            let at = self.mesh.network(&run.levels);
            let [first, other] = values.entry(run.pair).or_default();
            match figure(run) {
                Some(value) if at == 0 => first.push(value),
                Some(value) if at == place => other.push(value),
                _ => {}
            }
        }
        let both = |[first, other]: &[Vec<f64>; 2]| Some((median(first)?, median(other)?));
        let pairs: Vec<(f64, f64)> = values.values().filter_map(both).collect();
        let change = duet_change(&pairs, Scale::Ratio)?;
        Some((change.interval, pairs.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::judged;
    use crate::metrics::metric;
    use bitcost_model::study::Label;
    use bitcost_study::mesh::{Mesh, NETWORK, Pattern};

    #[test]
    fn networks_are_compared_between_the_same_hosts() {
        let mesh = Mesh {
            hosts: (1..=4).map(|host| format!("n{host}")).collect(),
            written: Vec::new(),
            is_lab: false,
            pattern: Pattern::Ring,
            is_concurrent: false,
            networks: vec![Network::Pod, Network::Host, Network::Service],
        };
        let run = |place: usize, network: Network, value: f64| PairRun {
            pair: (place, (place + 1) % 4),
            levels: vec![(NETWORK.to_owned(), Label::Text(network.name().to_owned()))],
            value,
            lost: None,
            cost: [Some(0.1), Some(10.0 / value - 0.1)],
            limiter: None,
        };
        let of_all = |network: Network, hosts: usize, value: f64| {
            (0..hosts).map(move |place| run(place, network, value * (place + 1) as f64))
        };
        let mut runs: Vec<PairRun> = of_all(Network::Pod, 4, 10.0).collect();
        let throughput = metric("throughput_mbps").expect("a metric");
        let of = |runs: &[PairRun]| judged(mesh.clone(), throughput, runs.to_vec()).networks();
        assert_eq!(of(&runs), []);
        runs.extend(of_all(Network::Service, 3, 8.0));
        let found = of(&runs);
        let [service] = found[..] else {
            panic!("{found:?}")
        };
        let ends = (service.network, service.to, service.pairs);
        assert_eq!(ends, (Network::Service, Network::Pod, 3));
        assert!((service.ratio.value - 0.8).abs() < 1e-9, "{service:?}");
        let cost = service.cost.expect("costs");
        assert!((cost.value - 1.25).abs() < 1e-9, "{service:?}");
    }
}
