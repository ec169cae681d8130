//! Where an agent runs in a cluster, as a place names it: `kubernetes:n1`.

use bitcost_model::Invalid;

use super::super::foreign::Foreign;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub node: Foreign,
    /// Whether the pod has the network of the node, and not one of its own.
    pub host_network: bool,
}

/// How the places of pods begin: with a network of their own, and with that of the node.
const PREFIXES: [&str; 2] = ["kubernetes:", "kubernetes-host:"];

impl Target {
    /// A pod with a network of its own at the node of this name.
    pub fn new(node: &str) -> Result<Target, Invalid> {
        let is_plain = !node.contains(|c: char| c.is_uppercase() || c == '_');
        let name = Foreign::of(node, "a node").ok().filter(|_| is_plain);
        let node = name.ok_or_else(|| {
            Invalid(format!(
                "`{}` is not a name of a node; allowed: lowercase letters, digits and . -",
                node.escape_debug()
            ))
        })?;
        Ok(Target {
            node,
            host_network: false,
        })
    }

    /// Reads the place of a pod; absent where it is another kind of place.
    pub fn parse(place: &str) -> Option<Result<Target, Invalid>> {
        let of = |prefix: &str| Some(Target::new(place.strip_prefix(prefix)?));
        let in_host_network = |target| Target {
            host_network: true,
            ..target
        };
        of(PREFIXES[0]).or_else(|| Some(of(PREFIXES[1])?.map(in_host_network)))
    }

    /// Its place: `kubernetes:n1` or `kubernetes-host:n1`.
    pub fn place(&self) -> String {
        format!("{}{}", PREFIXES[usize::from(self.host_network)], self.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_pods_are_read_as_they_are_written() {
        for place in ["kubernetes:n1", "kubernetes-host:n1.site"] {
            let target = Target::parse(place).expect("a target").expect("a name");
            assert_eq!(target.place(), place);
        }
        assert_eq!(Target::parse("n1"), None);
        for place in ["", "-x", "a b", "A", "a;b"].map(|name| format!("kubernetes:{name}")) {
            let Some(Err(Invalid(why))) = Target::parse(&place) else {
                panic!("{place} is a target");
            };
            assert!(
                why.ends_with("allowed: lowercase letters, digits and . -"),
                "{why}"
            );
        }
    }
}
