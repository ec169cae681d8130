//! Faults of a topology that cannot be built, with their place in the description.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::{End, Link, Node, NodeKind, Topology};
use crate::Invalid;
use crate::near::did_you_mean;

/// The longest device name that Linux takes, in bytes (IFNAMSIZ without the closing zero).
const DEVICE_NAME_MAX_BYTES: usize = 15;

/// The MTUs that a veth device takes, in bytes (ETH_MIN_MTU, ETH_MAX_MTU of linux/if_ether.h).
const MTU_BYTES: RangeInclusive<u32> = 68..=65535;

/// Most nodes and most links: the number that a machine builds in seconds.
const MOST: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub at: At,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    Node(String),
    /// The link with this number, from 0.
    Link(usize),
    Device(String),
    Whole,
}

fn problem<T>(at: At, message: impl Into<String>) -> Result<T, Problem> {
    Err(Problem {
        at,
        message: message.into(),
    })
}

/// Whether a node may have this name: letters, digits and `-_.`, a letter or digit first.
pub fn is_node_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Refuses more nodes or links than a machine builds in seconds.
///
/// # Errors
/// A sentence with the numbers and the limit.
pub fn check_count(nodes: usize, links: usize) -> Result<(), Invalid> {
    if nodes <= MOST && links <= MOST {
        return Ok(());
    }
    Err(Invalid(format!(
        "{nodes} nodes and {links} links; allowed: at most {MOST} of each"
    )))
}

impl Topology {
    /// Checks everything that the kernel would report unclearly or not at all.
    ///
    /// # Errors
    /// The first problem.
    pub fn check(&self) -> Result<(), Problem> {
        check_count(self.nodes.len(), self.links.len()).or_else(|why| problem(At::Whole, why))?;
        if self.nodes.is_empty() {
            return problem(
                At::Whole,
                "the lab has no nodes; name at least one, such as hosts = [\"h1\"]",
            );
        }
        self.check_names()?;
        self.check_links()?;
        self.check_nodes()?;
        self.check_loops()?;
        self.check_addresses()
    }

    fn check_names(&self) -> Result<(), Problem> {
        let mut seen = BTreeSet::new();
        for Node { name, .. } in &self.nodes {
            let at = || At::Node(name.clone());
            if !is_node_name(name) {
                let name = name.escape_debug();
                return problem(
                    at(),
                    format!(
                        "`{name}` is not a name of a node; allowed: letters, digits, - _ and ."
                    ),
                );
            }
            if !seen.insert(name) {
                return problem(
                    at(),
                    format!("the name `{name}` is used twice; allowed: each name once"),
                );
            }
        }
        Ok(())
    }

    fn check_links(&self) -> Result<(), Problem> {
        let mut devices = BTreeSet::new();
        for (index, link) in self.links.iter().enumerate() {
            let at = At::Link(index);
            let [near, far] = &link.ends;
            if near.node == far.node {
                return problem(
                    at,
                    format!(
                        "a link joins `{}` with itself; allowed: two nodes",
                        near.node
                    ),
                );
            }
            for end in &link.ends {
                self.check_end(end, &at)?;
                if !devices.insert((&end.node, &end.device)) {
                    return problem(
                        at,
                        format!("{} has the device `{}` twice", end.node, end.device),
                    );
                }
            }
            check_mtu(link, &at)?;
        }
        Ok(())
    }

    fn check_end(&self, End { node, device, .. }: &End, at: &At) -> Result<(), Problem> {
        if self.node(node).is_none() {
            let names = self.nodes.iter().map(|node| node.name.as_str());
            let hint = did_you_mean(node, names.clone());
            let all: Vec<&str> = names.collect();
            return problem(
                at.clone(),
                format!(
                    "unknown node `{}`{hint}; there are: {}",
                    node.escape_debug(),
                    all.join(", ")
                ),
            );
        }
        let is_name = !device.is_empty()
            && device.len() <= DEVICE_NAME_MAX_BYTES
            && device
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if is_name {
            return Ok(());
        }
        let why = format!("letters, digits, - _ and ., at most {DEVICE_NAME_MAX_BYTES} of them");
        let device = device.escape_debug();
        problem(
            at.clone(),
            format!("`{device}` is not a name of a device; allowed: {why}"),
        )
    }

    fn check_nodes(&self) -> Result<(), Problem> {
        for node in &self.nodes {
            let at = || At::Node(node.name.clone());
            let ports = self.ends().filter(|end| end.node == node.name).count();
            let has_address = self.address(&node.name).is_some();
            match node.kind {
                NodeKind::Host if !has_address => {
                    return problem(
                        at(),
                        format!("the host {} has no device with an address", node.name),
                    );
                }
                NodeKind::Wire if ports != 2 => {
                    return problem(
                        at(),
                        format!("the wire {} has {ports} ports; allowed: 2", node.name),
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses loops: bridges without spanning tree forward a broadcast round a loop for ever.
    fn check_loops(&self) -> Result<(), Problem> {
        let Some(index) = self.loop_links().first().copied() else {
            return Ok(());
        };
        let [near, far] = &self.links[index].ends;
        let message = format!(
            "the link of {} and {} closes a loop of switches, and spanning tree is off: a broadcast would \
             circulate for ever; leave this link out, or make one of them a router",
            near.node, far.node
        );
        problem(At::Link(index), message)
    }

    /// The links between bridges that are in no spanning tree of the links before them, by their
    /// places.
    pub fn loop_links(&self) -> Vec<usize> {
        let names = self.nodes.iter().map(|node| node.name.as_str());
        let mut group: BTreeMap<&str, usize> = names.zip(0..).collect();
        let mut closing = Vec::new();
        let is_bridge = |end: &End| {
            self.node(&end.node)
                .is_some_and(|node| node.kind.is_bridge())
        };
        for (index, link) in self.links.iter().enumerate() {
            let [near, far] = &link.ends;
            if !(is_bridge(near) && is_bridge(far)) {
                continue;
            }
            let (one, other) = (group[near.node.as_str()], group[far.node.as_str()]);
            if one == other {
                closing.push(index);
            }
            group
                .values_mut()
                .filter(|number| **number == other)
                .for_each(|number| *number = one);
        }
        closing
    }

    fn check_addresses(&self) -> Result<(), Problem> {
        let mut owners: BTreeMap<IpAddr, &str> = BTreeMap::new();
        for end in self.ends() {
            let at = || At::Device(end.device.clone());
            let is_bridge = self
                .node(&end.node)
                .is_some_and(|node| node.kind.is_bridge());
            if is_bridge && !end.addresses.is_empty() {
                return problem(
                    at(),
                    format!("{} is a port of a switch, which has no address", end.device),
                );
            }
            for address in &end.addresses {
                let most = if address.ip.is_ipv4() { 32 } else { 128 };
                if address.prefix_length > most {
                    return problem(at(), format!("{address}: a prefix has at most {most} bits"));
                }
                if let Some(owner) = owners.insert(address.ip, &end.device) {
                    let ip = address.ip;
                    return problem(
                        at(),
                        format!("{} has the address {ip}, which {owner} has too", end.device),
                    );
                }
            }
        }
        self.nodes
            .iter()
            .try_for_each(|node| self.check_routes(node))
    }

    fn check_routes(&self, node: &Node) -> Result<(), Problem> {
        let own = || {
            self.ends()
                .filter(|end| end.node == node.name)
                .flat_map(|end| &end.addresses)
        };
        for route in &node.routes {
            if !own().any(|address| address.has(route.via)) {
                let message = format!(
                    "{} cannot reach {}, its router to {}",
                    node.name, route.via, route.to
                );
                return problem(At::Node(node.name.clone()), message);
            }
        }
        Ok(())
    }
}

fn check_mtu(link: &Link, at: &At) -> Result<(), Problem> {
    let [near, far] = &link.ends;
    if MTU_BYTES.contains(&link.mtu_bytes) {
        return Ok(());
    }
    let (least, most) = (MTU_BYTES.start(), MTU_BYTES.end());
    let (mtu, near, far) = (link.mtu_bytes, &near.device, &far.device);
    problem(
        at.clone(),
        format!("the MTU of {near} to {far} is {mtu} bytes; allowed: {least} to {most}"),
    )
}
