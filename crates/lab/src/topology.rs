//! The description of an emulated network: nodes, and the links between them.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::LabError;

/// The longest device name that Linux takes, in bytes (IFNAMSIZ without the closing zero).
const DEVICE_NAME_MAX_BYTES: usize = 15;

/// The MTUs that a veth device takes, in bytes (ETH_MIN_MTU, ETH_MAX_MTU of linux/if_ether.h).
const MTU_BYTES: RangeInclusive<u32> = 68..=65535;

/// The least MTU that a device with an IPv6 address has, in bytes (RFC 8200, section 5).
const IPV6_MTU_MIN_BYTES: u32 = 1280;

/// An emulated network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Its nodes, each a network namespace.
    pub nodes: Vec<Node>,
    /// The links between them, each a veth pair.
    pub links: Vec<Link>,
    /// Where the receive work of the devices is done.
    pub napi: Napi,
}

/// A node of a topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name, such as "h1".
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A host, which can play a role in a run.
    Host,
    /// Two ports and nothing but a wire between them. It plays the hardware of both hosts' network
    /// cards: what a host hands over as one super-packet leaves as segments of its MSS.
    Wire,
}

/// A link between two nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its two ends.
    pub ends: [End; 2],
    /// The MTU of both ends, in bytes.
    pub mtu_bytes: u32,
}

/// One end of a link: a device of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The node's name.
    pub node: String,
    /// The device's name.
    pub device: String,
    /// The device's addresses; a host is known by its first one.
    pub addresses: Vec<Address>,
}

/// An address with the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// The length of the prefix, in bits.
    pub prefix_length: u8,
}

/// Where the receive work of a veth device is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Napi {
    /// In a kernel thread of the device, so that it can be charged to the receiver.
    Threaded,
    /// In the system call of whoever sends, as a veth does by itself.
    Inline,
}

impl Topology {
    /// Two hosts and one link: h1 (h1-eth0, 10.0.0.1/24) and h2 (h2-eth0, 10.0.0.2/24); where the MTU
    /// allows IPv6 also fd00::1/64 and fd00::2/64.
    pub fn pair(mtu_bytes: u32, napi: Napi) -> Self {
        let host = |name: &str| Node { name: name.to_owned(), kind: NodeKind::Host };
        let end = |node: &str, last: u8| End {
            node: node.to_owned(),
            device: format!("{node}-eth0"),
            addresses: addresses(last, mtu_bytes),
        };
        Self {
            nodes: vec![host("h1"), host("h2")],
            links: vec![Link { ends: [end("h1", 1), end("h2", 2)], mtu_bytes }],
            napi,
        }
    }

    /// The two hosts of [`Topology::pair`] with a wire between them: h1 -- w1 -- h2.
    pub fn wire(mtu_bytes: u32, napi: Napi) -> Self {
        let mut topology = Self::pair(mtu_bytes, napi);
        let port = |number: u8| End { node: "w1".to_owned(), device: format!("w1-eth{number}"), addresses: Vec::new() };
        let link = |host: &End, number: u8| Link { ends: [host.clone(), port(number)], mtu_bytes };
        let [h1, h2] = &topology.links[0].ends;
        let links = vec![link(h1, 1), link(h2, 2)];
        topology.links = links;
        topology.nodes.push(Node { name: "w1".to_owned(), kind: NodeKind::Wire });
        topology
    }

    /// Every end of every link.
    pub fn ends(&self) -> impl Iterator<Item = &End> {
        self.links.iter().flat_map(|link| &link.ends)
    }

    /// Checks what the kernel would not say clearly: names, MTUs, and that hosts have addresses.
    pub fn check(&self) -> Result<(), LabError> {
        let mut nodes = BTreeSet::new();
        for node in &self.nodes {
            if node.name.is_empty() || !nodes.insert(&node.name) {
                return invalid(format!("the node name \"{}\" is empty or used twice", node.name));
            }
        }
        self.links.iter().try_for_each(check_mtu)?;
        self.check_ends()?;
        let has_address = |node: &Node| self.ends().any(|end| end.node == node.name && !end.addresses.is_empty());
        let ports = |node: &Node| self.ends().filter(|end| end.node == node.name).count();
        for node in &self.nodes {
            match node.kind {
                NodeKind::Host if !has_address(node) => {
                    return invalid(format!("{} has no device with an address", node.name));
                }
                NodeKind::Wire if ports(node) != 2 => {
                    return invalid(format!("the wire {} has {} ports, not 2", node.name, ports(node)));
                }
                NodeKind::Host | NodeKind::Wire => {}
            }
        }
        Ok(())
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    fn check_ends(&self) -> Result<(), LabError> {
        let mut devices = BTreeSet::new();
        for End { node, device, .. } in self.ends() {
            if !self.nodes.iter().any(|known| known.name == *node) {
                return invalid(format!("a link ends at \"{node}\", which is no node"));
            }
            if device.is_empty() || device.len() > DEVICE_NAME_MAX_BYTES {
                return invalid(format!("the device name \"{device}\" has not 1 to {DEVICE_NAME_MAX_BYTES} bytes"));
            }
            if !devices.insert((node, device)) {
                return invalid(format!("{node} has the device \"{device}\" twice"));
            }
        }
        Ok(())
    }
}

/// The addresses of a host, by their last number.
fn addresses(last: u8, mtu_bytes: u32) -> Vec<Address> {
    let v4 = Address { ip: Ipv4Addr::new(10, 0, 0, last).into(), prefix_length: 24 };
    let v6 = Address { ip: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last.into()).into(), prefix_length: 64 };
    if mtu_bytes < IPV6_MTU_MIN_BYTES { vec![v4] } else { vec![v4, v6] }
}

fn check_mtu(link: &Link) -> Result<(), LabError> {
    let [near, far] = &link.ends;
    if MTU_BYTES.contains(&link.mtu_bytes) {
        return Ok(());
    }
    let (least, most) = (MTU_BYTES.start(), MTU_BYTES.end());
    invalid(format!("the MTU of {} to {} is {} bytes, not {least} to {most}", near.device, far.device, link.mtu_bytes))
}

fn invalid(what: String) -> Result<(), LabError> {
    Err(LabError::InvalidTopology { what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_usable_and_survives_json() {
        let pair = Topology::pair(8896, Napi::Threaded);
        pair.check().unwrap();
        let text = serde_json::to_string(&pair).unwrap();
        assert_eq!(serde_json::from_str::<Topology>(&text).unwrap(), pair);
    }

    #[test]
    fn a_wire_has_two_ports() {
        let mut wire = Topology::wire(8896, Napi::Threaded);
        wire.check().unwrap();
        wire.links.pop();
        wire.nodes.retain(|node| node.name != "h2");
        assert!(wire.check().unwrap_err().to_string().contains("has 1 ports, not 2"));
    }

    #[test]
    fn contradictions_are_named() {
        let said = |change: fn(&mut Topology)| {
            let mut topology = Topology::pair(1500, Napi::Inline);
            change(&mut topology);
            topology.check().unwrap_err().to_string()
        };
        assert!(said(|t| t.nodes[1].name = "h1".to_owned()).contains("used twice"));
        assert!(said(|t| t.links[0].ends[1].node = "h9".to_owned()).contains("\"h9\", which is no node"));
        assert!(said(|t| t.links[0].ends[0].device = "sixteen-bytes-xx".to_owned()).contains("1 to 15 bytes"));
        assert!(said(|t| t.links[0].ends[1].addresses.clear()).contains("h2 has no device with an address"));
        assert!(said(|t| t.links[0].mtu_bytes = 10).contains("10 bytes, not 68 to 65535"));
        assert!(said(|t| t.links[0].ends[1] = t.links[0].ends[0].clone()).contains("twice"));
    }
}
