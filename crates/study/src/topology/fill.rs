//! Addresses and routes that a description does not give.

use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bitcost_model::place::IPV6_MTU_MIN;
use bitcost_model::topology::{Address, End, Link, Node, NodeKind, Route, Topology};

/// The source of addresses, and the parts that need none.
#[derive(Debug, Clone)]
pub struct Addressing {
    /// The network of the only segment; with several segments each has a /24 of it, in the order of
    /// their first links.
    pub subnet: Address,
    /// Whether devices get an address of IPv6 as well, where their MTU allows it.
    pub ipv6: bool,
    pub listed: BTreeSet<String>,
    pub routed: BTreeSet<String>,
}

impl Default for Addressing {
    fn default() -> Addressing {
        Addressing {
            subnet: Address::new(Ipv4Addr::new(10, 0, 0, 0), 24),
            ipv6: true,
            listed: BTreeSet::new(),
            routed: BTreeSet::new(),
        }
    }
}

/// Gives every device of a host or router an address where none is listed, and every such node its
/// routes.
pub fn fill(topology: &mut Topology, addressing: &Addressing) {
    let of_links = segments(topology);
    let count = of_links.iter().max().map_or(0, |last| last + 1);
    for segment in 0..count {
        address_segment(topology, &of_links, segment, count, addressing);
    }
    let segments = Segments {
        topology,
        of_links: &of_links,
    };
    let routes: Vec<Vec<Route>> = topology
        .nodes
        .iter()
        .map(|node| segments.routes(node, count))
        .collect();
    for (node, routes) in topology.nodes.iter_mut().zip(routes) {
        if count > 1 && !node.kind.is_bridge() && !addressing.routed.contains(&node.name) {
            node.routes = routes;
        }
    }
}

/// The segment of each link: links that bridges join form one segment. Segments are numbered in the
/// order of their first links.
fn segments(topology: &Topology) -> Vec<usize> {
    let mut found: Vec<usize> = (0..topology.links.len()).collect();
    for bridge in topology.nodes.iter().filter(|node| node.kind.is_bridge()) {
        let is_at = |link: &Link| link.ends.iter().any(|end| end.node == bridge.name);
        let joined = topology.links.iter().zip(&found);
        let joined = joined.filter(|(link, _)| is_at(link)).map(|(_, of)| *of);
        let joined: BTreeSet<usize> = joined.collect();
        for segment in found.iter_mut().filter(|of| joined.contains(of)) {
            *segment = joined.first().copied().unwrap_or_default();
        }
    }
    let firsts: BTreeSet<usize> = found.iter().copied().collect();
    let number = |first: usize| firsts.range(..first).count();
    found.into_iter().map(number).collect()
}

fn address_segment(
    topology: &mut Topology,
    of_links: &[usize],
    segment: usize,
    count: usize,
    addressing: &Addressing,
) {
    let given = topology.ends().flat_map(|end| &end.addresses);
    let mut taken: BTreeSet<IpAddr> = given.map(|address| address.ip).collect();
    let networks = networks(addressing, segment, count);
    let Topology { nodes, links, .. } = topology;
    for node in nodes.iter().filter(|node| !node.kind.is_bridge()) {
        let own = links.iter_mut().zip(of_links);
        for (link, _) in own.filter(|(_, of)| **of == segment) {
            let mtu = link.mtu_bytes;
            let ends = link.ends.iter_mut().filter(|end| end.node == node.name);
            for end in ends.filter(|end| !addressing.listed.contains(&end.device)) {
                let usable = networks
                    .iter()
                    .filter(|n| n.ip.is_ipv4() || mtu >= IPV6_MTU_MIN);
                end.addresses = usable
                    .filter_map(|network| free(*network, node.kind, &taken))
                    .collect();
                taken.extend(end.addresses.iter().map(|address| address.ip));
            }
        }
    }
}

struct Segments<'a> {
    topology: &'a Topology,
    of_links: &'a [usize],
}

impl<'a> Segments<'a> {
    /// The routes of a node: a host sends everything to the first router of its segments; a router
    /// has a route to each other network by its nearest neighbour on the way there.
    fn routes(&self, node: &Node, count: usize) -> Vec<Route> {
        let own = self.of_node(&node.name);
        if node.kind == NodeKind::Host {
            let router = own.into_iter().flat_map(|near| self.routers(near)).next();
            return router.map(defaults).unwrap_or_default();
        }
        let far = (0..count).filter(|segment| !own.contains(segment));
        far.flat_map(|goal| self.routes_to(&node.name, goal))
            .collect()
    }

    /// The segments that a node is in, in the order of its links.
    fn of_node(&self, node: &str) -> Vec<usize> {
        let is_at = |link: &Link| link.ends.iter().any(|end| end.node == node);
        let links = self.topology.links.iter().zip(self.of_links);
        let own = links.filter(|(link, _)| is_at(link));
        own.map(|(_, of)| *of).collect()
    }

    fn ends(&self, segment: usize) -> impl Iterator<Item = &'a End> + use<'a> {
        let links = self.topology.links.iter().zip(self.of_links);
        let own = links.filter(move |(_, of)| **of == segment);
        own.flat_map(|(link, _)| &link.ends)
    }

    fn routers(&self, segment: usize) -> impl Iterator<Item = &'a End> + use<'a> {
        let topology = self.topology;
        let is_router = |node: &Node| node.kind == NodeKind::Router;
        self.ends(segment)
            .filter(move |end| topology.node(&end.node).is_some_and(is_router))
    }

    /// The routes from a router to the networks of a segment.
    fn routes_to(&self, from: &str, goal: usize) -> Vec<Route> {
        let mut seen = BTreeSet::from([from]);
        let first = self.of_node(from).into_iter();
        let first = first.flat_map(|near| self.routers(near));
        let mut queue: VecDeque<(&str, &End)> = first.map(|end| (&*end.node, end)).collect();
        while let Some((router, by)) = queue.pop_front() {
            if !seen.insert(router) {
                continue;
            }
            let near = self.of_node(router);
            if near.contains(&goal) {
                return self.routes_by(by, goal);
            }
            let next = near.into_iter().flat_map(|near| self.routers(near));
            queue.extend(next.map(|end| (&*end.node, by)));
        }
        Vec::new()
    }

    fn routes_by(&self, by: &End, goal: usize) -> Vec<Route> {
        let addresses = self.ends(goal).flat_map(|end| &end.addresses);
        let networks: BTreeSet<Address> = addresses.map(|address| address.network()).collect();
        let route = |to: Address| {
            let mut own = by.addresses.iter().map(|address| address.ip);
            let via = own.find(|via| via.is_ipv4() == to.ip.is_ipv4())?;
            Some(Route { to, via })
        };
        networks.into_iter().filter_map(route).collect()
    }
}

fn defaults(end: &End) -> Vec<Route> {
    let mut routes: Vec<Route> = Vec::new();
    for via in end.addresses.iter().map(|address| address.ip) {
        let to = everything(via.is_ipv4());
        if routes.iter().all(|route| route.to != to) {
            routes.push(Route { to, via });
        }
    }
    routes
}

pub fn everything(is_v4: bool) -> Address {
    match is_v4 {
        true => Address::new(Ipv4Addr::UNSPECIFIED, 0),
        false => Address::new(Ipv6Addr::UNSPECIFIED, 0),
    }
}

/// The networks of a segment: one of IPv4, and where it is requested one of IPv6.
fn networks(addressing: &Addressing, segment: usize, count: usize) -> Vec<Address> {
    let number = u16::try_from(segment).unwrap_or(u16::MAX);
    let mut v4 = addressing.subnet.network();
    if let (IpAddr::V4(base), 2..) = (v4.ip, count) {
        let ip = Ipv4Addr::from_bits(base.to_bits().wrapping_add(u32::from(number) << 8));
        v4 = Address::new(ip, 24);
    }
    let v6 = Address::new(Ipv6Addr::new(0xfd00, 0, 0, number, 0, 0, 0, 0), 64);
    match addressing.ipv6 {
        true => vec![v4, v6],
        false => vec![v4],
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
