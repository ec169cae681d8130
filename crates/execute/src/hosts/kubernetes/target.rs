//! Where an agent runs in a cluster, as a place names it: a node, a node with its own network, or a pod.

/// Where an agent runs in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A pod at this node.
    Node(String),
    /// A pod at this node with the host's network.
    NodeNetwork(String),
    /// An ephemeral container in this pod.
    Pod(String),
}

/// How the places of targets begin.
const NODE: &str = "kubernetes:";
const NODE_NETWORK: &str = "kubernetes-host:";
const POD: &str = "pod:";

impl Target {
    /// Reads the place of a target; absent where it is another kind of place.
    pub fn parse(place: &str) -> Option<Result<Target, String>> {
        let of = |prefix: &str, make: fn(String) -> Target| {
            place.strip_prefix(prefix).map(|name| plain(name).map(make))
        };
        of(NODE, Target::Node)
            .or_else(|| of(NODE_NETWORK, Target::NodeNetwork))
            .or_else(|| of(POD, Target::Pod))
    }

    /// Its place: `kubernetes:n1`, `kubernetes-host:n1` or `pod:web-0`.
    pub fn place(&self) -> String {
        match self {
            Target::Node(name) => format!("{NODE}{name}"),
            Target::NodeNetwork(name) => format!("{NODE_NETWORK}{name}"),
            Target::Pod(name) => format!("{POD}{name}"),
        }
    }

    /// The same target with the host's network; that of a pod is its own.
    pub fn with_host_network(self) -> Target {
        match self {
            Target::Node(name) => Target::NodeNetwork(name),
            other => other,
        }
    }
}

/// The first of the targets that is the same as this one: a pod has one network, and one container for both.
pub fn first(targets: &[Target], number: usize) -> usize {
    let same = |target: &Target| *target == targets[number];
    targets.iter().position(same).unwrap_or(number)
}

/// The name of a node or pod.
pub fn plain(name: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c);
    match (1..=253).contains(&name.len()) && !name.starts_with('-') && name.chars().all(is_plain) {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "`{name}` is no name of Kubernetes; allowed: lowercase letters, digits and . -"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_targets_are_read_as_they_are_written() {
        for place in ["kubernetes:n1", "kubernetes-host:n1.site", "pod:web-0"] {
            let target = Target::parse(place).expect("a target").expect("a name");
            assert_eq!(target.place(), place);
        }
        assert_eq!(Target::parse("n1"), None);
        for place in ["pod:", "pod:-x", "pod:a b", "kubernetes:A", "pod:a;b"] {
            assert!(matches!(Target::parse(place), Some(Err(_))), "{place}");
        }
        let node = Target::Node("n1".to_owned()).with_host_network();
        assert_eq!(node.place(), "kubernetes-host:n1");
        let pod = Target::Pod("web".to_owned());
        let targets = [node, pod.clone(), pod.with_host_network()];
        assert_eq!([0, 1, 2].map(|number| first(&targets, number)), [0, 1, 1]);
    }
}
