//! The description of an emulated network: hosts, switches, routers, and the shaping of the links
//! between them.

mod check;
mod path;

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::near::near_or_all;
use crate::shaping::{DelayBackend, Shaping};

pub use check::{At, Problem, check_count, is_node_name};
pub use path::Path;

/// An emulated network, complete: every device has its name, and every address and route is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Its nodes, each a network namespace.
    pub nodes: Vec<Node>,
    /// The links between them, in the order that numbers the ports.
    pub links: Vec<Link>,
    /// The context in which the receive work of the hosts' devices is done.
    pub napi: Napi,
    #[serde(default)]
    pub delay_backend: DelayBackend,
    /// Interrupt moderation of a host's interface while it receives a stream, in microseconds: the
    /// time from a poll for received packets to the next one. 0: each packet that finds the
    /// interface idle is received at once.
    #[serde(default)]
    pub moderation_us: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name, such as "h1".
    pub name: String,
    pub kind: NodeKind,
    /// Its routes to networks that it is not part of.
    #[serde(default)]
    pub routes: Vec<Route>,
}

words! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum NodeKind {
        /// A host, which can play a role in a run.
        Host = "host",
        /// A bridge that learns addresses, without spanning tree.
        Switch = "switch",
        /// Forwards between the networks of its devices.
        Router = "router",
        /// Two ports that are connected by a wire alone. It plays the hardware of both hosts' network
        /// cards: a super-packet that a host hands over leaves as segments of its MSS.
        Wire = "wire",
    }
}

impl NodeKind {
    pub fn is_bridge(self) -> bool {
        matches!(self, NodeKind::Switch | NodeKind::Wire)
    }

    pub fn first_port(self) -> usize {
        usize::from(self.is_bridge())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub ends: [End; 2],
    /// The MTU of both ends, in bytes.
    pub mtu_bytes: u32,
}

/// One end of a link: a device of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct End {
    pub node: String,
    /// The device's name, which is unique in the node; in a lab file, in the network.
    pub device: String,
    /// The device's addresses; a host is known by its first one.
    pub addresses: Vec<Address>,
    /// The shaping of the packets that leave by this device.
    #[serde(default)]
    pub egress: Shaping,
    /// True where generic receive offload is to be off; otherwise it stays as the kernel has it.
    #[serde(default)]
    pub gro_off: bool,
}

/// An address with the length of its network's prefix.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Address {
    pub ip: IpAddr,
    /// The length of the prefix, in bits.
    pub prefix_length: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The network; a prefix length of 0 is everything.
    pub to: Address,
    /// The router, a neighbour of the node.
    pub via: IpAddr,
}

words! {
    /// The context in which the receive work of a host's veth device is done.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Napi {
        /// In a kernel thread of the receiving interface, wherever the link uses NAPI, so that it can
        /// be attributed to the receiver.
        #[default]
        Threaded = "threaded",
        /// In softirq on the CPU that sent the packet, as a veth does by default.
        Inline = "inline",
    }
}

impl Address {
    /// This address in a network with a prefix of this length, in bits.
    pub fn new(ip: impl Into<IpAddr>, prefix_length: u8) -> Address {
        Address {
            ip: ip.into(),
            prefix_length,
        }
    }

    /// Its network: the address without the bits after the prefix.
    pub fn network(self) -> Address {
        let ip = match self.ip {
            IpAddr::V4(ip) => {
                let mask = u32::MAX
                    .checked_shl(32 - u32::from(self.prefix_length.min(32)))
                    .unwrap_or(0);
                IpAddr::from((ip.to_bits() & mask).to_be_bytes())
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX
                    .checked_shl(128 - u32::from(self.prefix_length.min(128)))
                    .unwrap_or(0);
                IpAddr::from((ip.to_bits() & mask).to_be_bytes())
            }
        };
        Address { ip, ..self }
    }

    pub fn has(self, ip: IpAddr) -> bool {
        ip.is_ipv4() == self.ip.is_ipv4() && Address { ip, ..self }.network() == self.network()
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix_length)
    }
}

impl Topology {
    pub fn ends(&self) -> impl Iterator<Item = &End> {
        self.links.iter().flat_map(|link| &link.ends)
    }

    pub fn ends_mut(&mut self) -> impl Iterator<Item = &mut End> {
        self.links.iter_mut().flat_map(|link| &mut link.ends)
    }

    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The nodes that can play a role in a run, in their order.
    pub fn hosts(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.kind == NodeKind::Host)
    }

    pub fn end(&self, device: &str) -> Option<&End> {
        self.ends().find(|end| end.device == device)
    }

    pub fn devices(&self) -> Vec<&str> {
        self.ends().map(|end| end.device.as_str()).collect()
    }

    /// The end with this device, which a user named.
    pub fn named_end(&self, device: &str) -> Result<&End, Invalid> {
        let unknown = || {
            let rest = near_or_all(device, &self.devices());
            Invalid(format!("unknown device `{}`{rest}", device.escape_debug()))
        };
        self.end(device).ok_or_else(unknown)
    }

    /// The first address of a node; `None` for one without.
    pub fn address(&self, node: &str) -> Option<IpAddr> {
        self.ends()
            .filter(|end| end.node == node)
            .find_map(|end| end.addresses.first())
            .map(|address| address.ip)
    }

    /// The name that the next device of a node gets: hosts and routers number their ports from 0,
    /// switches from 1.
    pub fn next_device(&self, node: &Node) -> String {
        let ports = self.ends().filter(|end| end.node == node.name).count();
        format!("{}-eth{}", node.name, node.kind.first_port() + ports)
    }

    /// Whether the path between hosts is more than a wire: something is shaped, switched or routed.
    pub fn has_network(&self) -> bool {
        let is_more = |node: &Node| matches!(node.kind, NodeKind::Switch | NodeKind::Router);
        self.nodes.iter().any(is_more) || self.ends().any(|end| !end.egress.is_nothing())
    }
}
