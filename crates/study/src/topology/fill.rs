//! Addresses and routes that a description does not give.

use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bitcost_model::topology::{Address, End, NodeKind, Route, Topology};

/// The least MTU that a device with an IPv6 address has, in bytes (RFC 8200, section 5).
const IPV6_MTU_MIN_BYTES: u32 = 1280;

/// The source of addresses, and the parts that need none.
#[derive(Debug, Clone)]
pub struct Addressing {
    /// The network of the only segment; with several segments each has a /24 of it, in the order of
    /// their first links.
    pub subnet: Address,
    /// Whether devices get an address of IPv6 as well, where their MTU allows it.
    pub ipv6: bool,
    /// Devices whose addresses the description lists.
    pub listed: BTreeSet<String>,
    /// Nodes whose routes the description lists.
    pub routed: BTreeSet<String>,
}

impl Default for Addressing {
    fn default() -> Addressing {
        let subnet = Address {
            ip: Ipv4Addr::new(10, 0, 0, 0).into(),
            prefix_length: 24,
        };
        Addressing {
            subnet,
            ipv6: true,
            listed: BTreeSet::new(),
            routed: BTreeSet::new(),
        }
    }
}

/// Gives every device of a host or router an address where none is listed, and every such node its
/// routes.
pub fn fill(topology: &mut Topology, addressing: &Addressing) {
    let segments = segments(topology);
    let count = segments.iter().max().map_or(0, |last| last + 1);
    for segment in 0..count {
        address_segment(topology, &segments, segment, count, addressing);
    }
    for index in 0..topology.nodes.len() {
        let node = &topology.nodes[index];
        if count > 1 && !node.kind.is_bridge() && !addressing.routed.contains(&node.name) {
            topology.nodes[index].routes = routes_of(topology, index, &segments);
        }
    }
}

/// The segment of each link: links that bridges join form one segment.
fn segments(topology: &Topology) -> Vec<usize> {
    let mut found: Vec<Option<usize>> = vec![None; topology.links.len()];
    let mut next = 0;
    for first in 0..topology.links.len() {
        if found[first].is_some() {
            continue;
        }
        let mut queue = VecDeque::from([first]);
        while let Some(index) = queue.pop_front() {
            if found[index].replace(next).is_some() {
                continue;
            }
            let is_joining = |end: &&End| {
                topology
                    .node(&end.node)
                    .is_some_and(|node| node.kind.is_bridge())
            };
            for end in topology.links[index].ends.iter().filter(is_joining) {
                let joined = |other: &usize| {
                    topology.links[*other]
                        .ends
                        .iter()
                        .any(|far| far.node == end.node)
                };
                queue.extend(
                    (0..topology.links.len())
                        .filter(|other| found[*other].is_none() && joined(other)),
                );
            }
        }
        next += 1;
    }
    found.into_iter().map(Option::unwrap_or_default).collect()
}

fn address_segment(
    topology: &mut Topology,
    segments: &[usize],
    segment: usize,
    count: usize,
    addressing: &Addressing,
) {
    let mut taken: BTreeSet<IpAddr> = topology
        .ends()
        .flat_map(|end| &end.addresses)
        .map(|a| a.ip)
        .collect();
    let networks = networks(addressing, segment, count);
    let order: Vec<(String, NodeKind)> = topology
        .nodes
        .iter()
        .map(|node| (node.name.clone(), node.kind))
        .collect();
    for (name, kind) in order {
        if kind.is_bridge() {
            continue;
        }
        let own = topology
            .links
            .iter_mut()
            .zip(segments)
            .filter(|(_, of)| **of == segment)
            .map(|(link, _)| link);
        for link in own {
            let mtu = link.mtu_bytes;
            for end in link.ends.iter_mut().filter(|end| end.node == name) {
                if addressing.listed.contains(&end.device) {
                    continue;
                }
                let usable = networks
                    .iter()
                    .filter(|n| n.ip.is_ipv4() || mtu >= IPV6_MTU_MIN_BYTES);
                end.addresses = usable
                    .filter_map(|network| free(*network, kind, &taken))
                    .collect();
                taken.extend(end.addresses.iter().map(|address| address.ip));
            }
        }
    }
}

/// The routes of a node: a host sends everything to the first router of its segments; a router has
/// a route to each other network by its nearest neighbour on the way there.
fn routes_of(topology: &Topology, node: usize, segments: &[usize]) -> Vec<Route> {
    let node = &topology.nodes[node];
    if node.kind == NodeKind::Host {
        let near = segments_of(topology, &node.name, segments).into_iter();
        let router = near
            .flat_map(|segment| routers_in(topology, segment, segments))
            .next();
        return router.map(|(_, end)| defaults(end)).unwrap_or_default();
    }
    let own = segments_of(topology, &node.name, segments);
    let count = segments.iter().max().map_or(0, |last| last + 1);
    let far = (0..count).filter(|segment| !own.contains(segment));
    far.flat_map(|segment| routes_to(topology, &node.name, segment, segments))
        .collect()
}

/// The segments that a node is in, in the order of its links.
fn segments_of(topology: &Topology, node: &str, segments: &[usize]) -> Vec<usize> {
    let is_of = |index: &usize| {
        topology.links[*index]
            .ends
            .iter()
            .any(|end| end.node == node)
    };
    (0..topology.links.len())
        .filter(is_of)
        .map(|index| segments[index])
        .collect()
}

fn routers_in<'a>(
    topology: &'a Topology,
    segment: usize,
    segments: &[usize],
) -> Vec<(&'a str, &'a End)> {
    let links = topology
        .links
        .iter()
        .zip(segments)
        .filter(|(_, of)| **of == segment);
    let ends = links.flat_map(|(link, _)| &link.ends);
    let is_router = |end: &&End| {
        topology
            .node(&end.node)
            .is_some_and(|node| node.kind == NodeKind::Router)
    };
    ends.filter(is_router)
        .map(|end| (end.node.as_str(), end))
        .collect()
}

/// The routes from a router to the networks of a segment.
fn routes_to(topology: &Topology, from: &str, goal: usize, segments: &[usize]) -> Vec<Route> {
    let mut seen = BTreeSet::from([from]);
    let first = segments_of(topology, from, segments)
        .into_iter()
        .flat_map(|near| routers_in(topology, near, segments));
    let mut queue: VecDeque<(&str, &End)> = first.collect();
    while let Some((router, by)) = queue.pop_front() {
        if !seen.insert(router) {
            continue;
        }
        let near = segments_of(topology, router, segments);
        if near.contains(&goal) {
            return routes_by(topology, by, goal, segments);
        }
        queue.extend(
            near.into_iter()
                .flat_map(|s| routers_in(topology, s, segments))
                .map(|(next, _)| (next, by)),
        );
    }
    Vec::new()
}

fn routes_by(topology: &Topology, by: &End, goal: usize, segments: &[usize]) -> Vec<Route> {
    let links = topology
        .links
        .iter()
        .zip(segments)
        .filter(|(_, of)| **of == goal);
    let addresses = links
        .flat_map(|(link, _)| &link.ends)
        .flat_map(|end| &end.addresses);
    let networks: BTreeSet<Address> = addresses.map(|address| address.network()).collect();
    let gateway = |to: Address| {
        by.addresses
            .iter()
            .find(|via| via.ip.is_ipv4() == to.ip.is_ipv4())
    };
    networks
        .into_iter()
        .filter_map(|to| {
            Some(Route {
                to,
                via: gateway(to)?.ip,
            })
        })
        .collect()
}

/// Default routes by the addresses of a router's device.
fn defaults(end: &End) -> Vec<Route> {
    let mut routes: Vec<Route> = Vec::new();
    for via in end.addresses.iter().map(|address| address.ip) {
        if !routes
            .iter()
            .any(|route| route.via.is_ipv4() == via.is_ipv4())
        {
            routes.push(Route {
                to: everything(via.is_ipv4()),
                via,
            });
        }
    }
    routes
}

/// The network of all addresses.
pub fn everything(is_v4: bool) -> Address {
    let ip = if is_v4 {
        IpAddr::from(Ipv4Addr::UNSPECIFIED)
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    Address {
        ip,
        prefix_length: 0,
    }
}

/// The networks of a segment: one of IPv4, and where it is requested one of IPv6.
fn networks(addressing: &Addressing, segment: usize, count: usize) -> Vec<Address> {
    let number = u16::try_from(segment).unwrap_or(u16::MAX);
    let mut v4 = addressing.subnet.network();
    if let (IpAddr::V4(base), 2..) = (v4.ip, count) {
        let ip = Ipv4Addr::from_bits(base.to_bits().wrapping_add(u32::from(number) << 8));
        v4 = Address {
            ip: ip.into(),
            prefix_length: 24,
        };
    }
    let v6 = Address {
        ip: Ipv6Addr::new(0xfd00, 0, 0, number, 0, 0, 0, 0).into(),
        prefix_length: 64,
    };
    if addressing.ipv6 {
        vec![v4, v6]
    } else {
        vec![v4]
    }
}

/// The next free address of a network: for hosts from 1 upwards, for routers from 254 downwards.
fn free(network: Address, kind: NodeKind, taken: &BTreeSet<IpAddr>) -> Option<Address> {
    let at = |number: u16| {
        let ip = match network.ip {
            IpAddr::V4(ip) => IpAddr::from(Ipv4Addr::from_bits(
                ip.to_bits().wrapping_add(number.into()),
            )),
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits().wrapping_add(number.into())).into(),
        };
        Address { ip, ..network }
    };
    let is_free = |address: &Address| network.has(address.ip) && !taken.contains(&address.ip);
    match kind {
        NodeKind::Router => (1..=254).rev().map(at).find(is_free),
        _ => (1..=u16::MAX - 1).map(at).find(is_free),
    }
}
