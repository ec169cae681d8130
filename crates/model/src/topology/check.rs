//! Faults of a topology that cannot be built, with their place in the description.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::{End, Node, NodeKind, Route, Topology};
use crate::Invalid;
use crate::near::near_or_all;

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

/// Keeps this as a problem of that place, unless it holds.
fn ensure(holds: bool, at: &At, message: impl FnOnce() -> String) -> Result<(), Problem> {
    match holds {
        true => Ok(()),
        false => Err(Problem {
            at: at.clone(),
            message: message(),
        }),
    }
}

/// Whether a node may have this name: letters, digits and `-_.`, a letter or digit first.
pub fn is_node_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Refuses more nodes or links than a machine builds in seconds.
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
    pub fn check(&self) -> Result<(), Problem> {
        check_count(self.nodes.len(), self.links.len()).map_err(|Invalid(message)| Problem {
            at: At::Whole,
            message,
        })?;
        ensure(!self.nodes.is_empty(), &At::Whole, || {
            "the lab has no nodes; name at least one, such as hosts = [\"h1\"]".to_owned()
        })?;
        self.check_names()?;
        self.check_links()?;
        self.nodes
            .iter()
            .try_for_each(|node| self.check_node(node))?;
        self.check_loops()?;
        self.check_addresses()
    }

    fn check_names(&self) -> Result<(), Problem> {
        let mut seen = BTreeSet::new();
        for Node { name, .. } in &self.nodes {
            let at = At::Node(name.clone());
            ensure(is_node_name(name), &at, || {
                let name = name.escape_debug();
                format!("`{name}` is not a name of a node; allowed: letters, digits, - _ and .")
            })?;
            ensure(seen.insert(name), &at, || {
                format!("the name `{name}` is used twice; allowed: each name once")
            })?;
        }
        Ok(())
    }

    fn check_links(&self) -> Result<(), Problem> {
        let mut devices = BTreeSet::new();
        for (index, link) in self.links.iter().enumerate() {
            let at = At::Link(index);
            let [near, far] = &link.ends;
            ensure(near.node != far.node, &at, || {
                let node = &near.node;
                format!("a link joins `{node}` with itself; allowed: two nodes")
            })?;
            for end in &link.ends {
                self.check_end(end, &at)?;
                let End { node, device, .. } = end;
                ensure(devices.insert((node, device)), &at, || {
                    format!("{node} has the device `{device}` twice")
                })?;
            }
            ensure(MTU_BYTES.contains(&link.mtu_bytes), &at, || {
                let (least, most) = (MTU_BYTES.start(), MTU_BYTES.end());
                let (mtu, near, far) = (link.mtu_bytes, &near.device, &far.device);
                format!("the MTU of {near} to {far} is {mtu} bytes; allowed: {least} to {most}")
            })?;
        }
        Ok(())
    }

    fn check_end(&self, End { node, device, .. }: &End, at: &At) -> Result<(), Problem> {
        ensure(self.node(node).is_some(), at, || {
            let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
            let rest = near_or_all(node, &names);
            format!("unknown node `{}`{rest}", node.escape_debug())
        })?;
        let is_letter = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_length = (1..=DEVICE_NAME_MAX_BYTES).contains(&device.len());
        ensure(is_length && device.chars().all(is_letter), at, || {
            let device = device.escape_debug();
            format!(
                "`{device}` is not a name of a device; allowed: letters, digits, - _ and ., at most {DEVICE_NAME_MAX_BYTES} of them"
            )
        })
    }

    fn check_node(&self, Node { name, kind, .. }: &Node) -> Result<(), Problem> {
        let at = At::Node(name.clone());
        let is_reached = *kind != NodeKind::Host || self.address(name).is_some();
        ensure(is_reached, &at, || {
            format!("the host {name} has no device with an address")
        })?;
        let ports = self.ends().filter(|end| end.node == *name).count();
        ensure(*kind != NodeKind::Wire || ports == 2, &at, || {
            format!("the wire {name} has {ports} ports; allowed: 2")
        })
    }

    /// Refuses loops: bridges without spanning tree forward a broadcast round a loop for ever.
    fn check_loops(&self) -> Result<(), Problem> {
        let Some(index) = self.loop_links().first().copied() else {
            return Ok(());
        };
        let [near, far] = &self.links[index].ends;
        Err(Problem {
            at: At::Link(index),
            message: format!(
                "the link of {} and {} closes a loop of switches, and spanning tree is off: a broadcast would \
                 circulate for ever; leave this link out, or make one of them a router",
                near.node, far.node
            ),
        })
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
            let (at, device) = (At::Device(end.device.clone()), &end.device);
            let node = self.node(&end.node);
            let is_bridge = node.is_some_and(|node| node.kind.is_bridge());
            ensure(!is_bridge || end.addresses.is_empty(), &at, || {
                format!("{device} is a port of a switch, which has no address")
            })?;
            for address in &end.addresses {
                let most = if address.ip.is_ipv4() { 32 } else { 128 };
                ensure(address.prefix_length <= most, &at, || {
                    format!("{address}: a prefix has at most {most} bits")
                })?;
                let owner = owners.insert(address.ip, device);
                ensure(owner.is_none(), &at, || {
                    let (ip, owner) = (address.ip, owner.unwrap_or_default());
                    format!("{device} has the address {ip}, which {owner} has too")
                })?;
            }
        }
        let mut nodes = self.nodes.iter();
        nodes.try_for_each(|node| self.check_routes(node))
    }

    fn check_routes(&self, Node { name, routes, .. }: &Node) -> Result<(), Problem> {
        for Route { to, via } in routes {
            let mut own = self.ends().filter(|end| end.node == *name);
            let is_near = own.any(|end| end.addresses.iter().any(|address| address.has(*via)));
            ensure(is_near, &At::Node(name.clone()), || {
                format!("{name} cannot reach {via}, its router to {to}")
            })?;
        }
        Ok(())
    }
}
