//! Where an agent runs in a cluster and how others reach it, as a place names it: `kubernetes:n1`.

use bitcost_model::Invalid;
use bitcost_study::mesh::Network;

/// Where an agent runs in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What the name is of, and how it is reached.
    pub kind: Kind,
    /// The name of the node or pod.
    pub name: String,
}

/// What the name of a target is of, and how it is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A pod at a node.
    Node,
    /// A pod at a node with the host's network.
    NodeNetwork,
    /// A pod at a node, behind a Service.
    NodeService,
    /// An ephemeral container in a pod that is there.
    Pod,
    /// The same, behind a Service.
    PodService,
}

/// How the places of targets begin.
const KINDS: [(&str, Kind); 5] = [
    ("kubernetes:", Kind::Node),
    ("kubernetes-host:", Kind::NodeNetwork),
    ("kubernetes-service:", Kind::NodeService),
    ("pod:", Kind::Pod),
    ("pod-service:", Kind::PodService),
];

impl Kind {
    fn container(self) -> Kind {
        match self {
            Kind::NodeService => Kind::Node,
            Kind::PodService => Kind::Pod,
            other => other,
        }
    }

    /// Whether data go to a Service.
    pub fn is_service(self) -> bool {
        self.container() != self
    }

    /// Whether its container is in a pod that is there.
    pub fn is_pod(self) -> bool {
        self.container() == Kind::Pod
    }
}

impl Target {
    /// Reads the place of a target; absent where it is another kind of place.
    pub fn parse(place: &str) -> Option<Result<Target, Invalid>> {
        let of = |(prefix, kind): &(&str, Kind)| {
            let name = place.strip_prefix(prefix)?;
            Some(plain(name).map(|name| Target { kind: *kind, name }))
        };
        KINDS.iter().find_map(of)
    }

    /// Its place: `kubernetes:n1`, `kubernetes-host:n1` or `pod:web-0`.
    pub fn place(&self) -> String {
        let of = KINDS.iter().find(|(_, kind)| *kind == self.kind);
        format!("{}{}", of.map_or("", |(prefix, _)| prefix), self.name)
    }

    /// The same target in this network; the host's network of a pod is its own.
    pub fn in_network(&self, network: Network) -> Target {
        let kind = match (self.kind, network) {
            (Kind::Node, Network::Host) => Kind::NodeNetwork,
            (Kind::Node, Network::Service) => Kind::NodeService,
            (Kind::Pod, Network::Service) => Kind::PodService,
            (kind, _) => kind,
        };
        Target {
            kind,
            name: self.name.clone(),
        }
    }
}

/// The first of the targets that is in the same container as this one.
pub fn first(targets: &[Target], number: usize) -> usize {
    let own = &targets[number];
    let same = |target: &Target| {
        target.kind.container() == own.kind.container() && target.name == own.name
    };
    targets.iter().position(same).unwrap_or(number)
}

/// The name of a node or pod.
pub fn plain(name: &str) -> Result<String, Invalid> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c);
    match (1..=253).contains(&name.len()) && !name.starts_with('-') && name.chars().all(is_plain) {
        true => Ok(name.to_owned()),
        false => Err(Invalid(format!(
            "`{name}` is not a name of a node or a pod; allowed: lowercase letters, digits and . -"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_targets_are_read_as_they_are_written() {
        let target = |place: &str| Target::parse(place).expect("a target").expect("a name");
        for place in [
            "kubernetes:n1",
            "kubernetes-host:n1.site",
            "kubernetes-service:n1",
            "pod:web-0",
            "pod-service:web-0",
        ] {
            assert_eq!(target(place).place(), place);
        }
        assert_eq!(Target::parse("n1"), None);
        for place in ["pod:", "pod:-x", "pod:a b", "kubernetes:A", "pod:a;b"] {
            assert!(matches!(Target::parse(place), Some(Err(_))), "{place}");
        }
        let all = [Network::Pod, Network::Host, Network::Service];
        let targets: Vec<Target> = all
            .into_iter()
            .flat_map(|network| {
                ["kubernetes:n1", "pod:web"].map(|at| target(at).in_network(network))
            })
            .collect();
        let places: Vec<String> = targets.iter().map(Target::place).collect();
        assert_eq!(places[2..4], ["kubernetes-host:n1", "pod:web"]);
        let containers: Vec<usize> = (0..6).map(|number| first(&targets, number)).collect();
        assert_eq!(containers, [0, 1, 2, 1, 0, 1]);
    }
}
