//! Builds a topology: namespaces, links, addresses. Runs in the holder, which has one thread.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use model::shaping::{DelayBackend, QueueLimit};
use model::topology::{End, Link, Napi, Node, NodeKind, Topology};
use netlink::{Ethtool, Netns, Rtnl, VethPair};
use sys::namespace::{Kind, current, enter, unshare, unshare_user_as_root};

use crate::diagnose::{Facts, diagnose};
use crate::lines::Lines;
use crate::protocol::{Host, NapiState, Ready};
use crate::{LabError, carrier, lines, napi, node, shape, wire};

/// The network namespaces of a lab, by the names of its nodes; they live while this does.
pub(crate) type Namespaces = BTreeMap<String, OwnedFd>;

/// What became of each device, by its node and name.
type Addresses<'a> = BTreeMap<(&'a str, &'a str), Vec<IpAddr>>;
type NapiStates<'a> = BTreeMap<(&'a str, &'a str), NapiState>;

fn key(end: &End) -> (&str, &str) {
    (&end.node, &end.device)
}

/// Moves this process out of the host's mount and network namespaces.
///
/// Returns whether it had to make a user namespace for that: always for an ordinary user, and for
/// a root without `CAP_SYS_ADMIN`.
pub(crate) fn isolate() -> Result<bool, LabError> {
    let has_user_namespace = match unshare(&[Kind::Mount, Kind::Net]) {
        Ok(()) => false,
        Err(_) => {
            let made = unshare_user_as_root().and_then(|()| unshare(&[Kind::Mount, Kind::Net]));
            made.map_err(|error| diagnose(&Facts::read(&error)))?;
            true
        }
    };
    Ok(has_user_namespace)
}

/// Builds `topology`, which was checked, in an isolated process.
pub(crate) fn build(topology: &Topology, user_namespace: bool) -> Result<(Network, Ready), LabError> {
    let (by_line, note) = emulator(topology)?;
    let namespaces = make_namespaces(&topology.nodes)?;
    let mut lines = by_line.then(Lines::new).transpose()?;
    for link in &topology.links {
        match &lines {
            Some(lines) if lines::carries(link) => {
                lines.make_link(link, |node| Ok(namespace_of(&namespaces, node)?.as_fd()))?;
            }
            _ => make_link(link, &namespaces)?,
        }
    }
    for end in topology.ends() {
        in_node(&namespaces, &end.node, || configure(end))?;
    }
    let mut addresses = Addresses::new();
    for end in topology.ends() {
        addresses.insert(key(end), in_node(&namespaces, &end.node, || address(end))?);
    }
    let mut notes = Vec::from_iter(note);
    for node in &topology.nodes {
        notes.extend(in_node(&namespaces, &node.name, || equip(node, topology))?);
    }
    // The peer must be up before a device has a carrier: threads come when all ends are up.
    let mut napi = NapiStates::new();
    for end in topology.ends() {
        let state = in_node(&namespaces, &end.node, || apply_napi(topology, end))?;
        napi.insert(key(end), state);
    }
    if let Some(lines) = &mut lines {
        topology.links.iter().filter(|link| lines::carries(link)).try_for_each(|link| lines.start(link))?;
    }
    let network = Network { topology: topology.clone(), namespaces, lines };
    network.shape(|end| !end.egress.is_nothing() && !network.is_by_line(end), None)?;
    let namespaces = &network.namespaces;
    for end in topology.ends() {
        in_node(namespaces, &end.node, || carrier::wait(end))?;
    }
    let is_addressed = |node: &&Node| node.kind == NodeKind::Host && topology.address(&node.name).is_some();
    let hosts = topology.nodes.iter().filter(is_addressed);
    let hosts = hosts.map(|node| host(node, topology, namespaces, &addresses, &napi)).collect::<Result<_, _>>()?;
    let fd = |node: &Node| Ok((node.name.clone(), namespace_of(namespaces, &node.name)?.as_raw_fd()));
    let nodes = topology.nodes.iter().map(fd).collect::<Result<_, LabError>>()?;
    let lines_fd = network.lines.as_ref().map(Lines::file);
    Ok((network, Ready { user_namespace, hosts, nodes, lines_fd, programs_pid: None, notes }))
}

/// A network that stands; it lives while this does.
#[derive(Debug)]
pub(crate) struct Network {
    topology: Topology,
    namespaces: Namespaces,
    lines: Option<Lines>,
}

impl Network {
    /// Gives every queue that delays this limit, or its own again, and lets the chances of delay lines begin anew.
    pub(crate) fn limit_queues(&self, limit: Option<QueueLimit>) -> Result<(), LabError> {
        self.lines.iter().for_each(|lines| lines.limit(limit));
        self.shape(|end| end.egress.needs_emulator() && !self.is_by_line(end), limit)
    }

    /// Whether a delay line does what is asked of what leaves here. It leaves to the kernel what needs no delay line.
    fn is_by_line(&self, end: &End) -> bool {
        end.egress.needs_emulator() && self.lines.is_some()
    }

    /// Shapes what leaves by these ends by the kernel.
    fn shape(&self, is_meant: impl Fn(&End) -> bool, limit: Option<QueueLimit>) -> Result<(), LabError> {
        for link in &self.topology.links {
            for end in link.ends.iter().filter(|end| is_meant(end)) {
                let end = End { egress: lines::limited(&end.egress, limit), ..end.clone() };
                in_node(&self.namespaces, &end.node, || shape::apply(&end, link.mtu_bytes))?;
            }
        }
        Ok(())
    }
}

/// Whether delay lines do what needs an emulator, and a sentence that says who does where anybody must.
fn emulator(topology: &Topology) -> Result<(bool, Option<String>), LabError> {
    if !topology.ends().any(|end| end.egress.needs_emulator()) {
        return Ok((false, None));
    }
    let by_line = match topology.delay_backend {
        DelayBackend::Builtin => true,
        DelayBackend::Auto => !shape::has_netem()?,
        DelayBackend::Netem if shape::has_netem()? => false,
        DelayBackend::Netem => return Err(LabError::NoNetem),
    };
    let who = match (by_line, topology.delay_backend) {
        (false, _) => "the kernel's netem",
        (true, DelayBackend::Builtin) => "bitcost's delay line, as asked",
        (true, _) => "bitcost's delay line, because this kernel has no netem",
    };
    Ok((by_line, Some(format!("delay, jitter, loss, reordering and duplication are made by {who}"))))
}

/// Makes of a namespace with its devices the node that it is. Returns what this kernel does not have.
fn equip(node: &Node, topology: &Topology) -> Result<Vec<String>, LabError> {
    match node.kind {
        NodeKind::Wire => return wire::build(&node.name, topology),
        NodeKind::Switch => node::bridge(&node.name, &node.name, topology)?,
        NodeKind::Router => {
            node::forward()?;
            node::add_routes(node)?;
            node::allow_ping()?;
        }
        NodeKind::Host => {
            node::add_routes(node)?;
            node::allow_ping()?;
        }
    }
    Ok(Vec::new())
}

fn make_namespaces(nodes: &[Node]) -> Result<Namespaces, LabError> {
    let mut namespaces = Namespaces::new();
    for Node { name, .. } in nodes {
        let made = unshare(&[Kind::Net]).and_then(|()| current(Kind::Net));
        let namespace = made.map_err(|error| no_namespace(name, &error))?;
        namespaces.insert(name.clone(), namespace);
        node::prepare()?;
        let mut rtnl = Rtnl::open()?;
        let loopback = rtnl.link("lo")?;
        rtnl.set_up(loopback.index, true)?;
    }
    Ok(namespaces)
}

fn no_namespace(node: &str, error: &io::Error) -> LabError {
    LabError::build(&format!("make the network namespace of {node} (see /proc/sys/user/max_net_namespaces)"), error)
}

fn make_link(link: &Link, namespaces: &Namespaces) -> Result<(), LabError> {
    let [near, far] = &link.ends;
    let peer = namespace_of(namespaces, &far.node)?;
    in_node(namespaces, &near.node, || {
        let pair = VethPair {
            name: &near.device,
            peer_name: &far.device,
            peer_netns: Some(Netns::Fd(peer.as_fd())),
            mtu_bytes: link.mtu_bytes,
        };
        match Rtnl::open()?.create_veth(&pair) {
            Err(error) if error.is_unsupported() => Err(LabError::NoVeth),
            outcome => Ok(outcome?),
        }
    })
}

fn configure(end: &End) -> Result<(), LabError> {
    if end.gro_off {
        turn_gro_off(&end.device)?;
    }
    let mut rtnl = Rtnl::open()?;
    let link = rtnl.link(&end.device)?;
    Ok(rtnl.set_up(link.index, true)?)
}

/// Turns generic receive offload off, and reads back that it is.
fn turn_gro_off(device: &str) -> Result<(), LabError> {
    const GRO: &str = "rx-gro";
    let mut ethtool = Ethtool::open()?;
    ethtool.set_features(device, &BTreeMap::from([(GRO.to_owned(), false)]))?;
    match ethtool.features(device)?.get(GRO) {
        Some(feature) if feature.active => {
            Err(LabError::Build { happened: format!("{device} does not turn {GRO} off") })
        }
        _ => Ok(()),
    }
}

/// Gives a device its addresses; those of IPv6 are left out where the kernel has none. Says which it has.
fn address(end: &End) -> Result<Vec<IpAddr>, LabError> {
    let mut rtnl = Rtnl::open()?;
    let link = rtnl.link(&end.device)?;
    let mut given = Vec::new();
    for address in &end.addresses {
        match rtnl.add_address(link.index, address.ip, address.prefix_length) {
            Ok(()) => given.push(address.ip),
            Err(_) if address.ip.is_ipv6() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(given)
}

/// Only hosts receive; what switches, routers and wires do is done by whoever sends. NAPI needs GRO.
fn apply_napi(topology: &Topology, end: &End) -> Result<NapiState, LabError> {
    let is_host = topology.node(&end.node).is_some_and(|node| node.kind == NodeKind::Host);
    match topology.napi {
        Napi::Threaded if is_host && end.gro_off => {
            Ok(NapiState::Inline { reason: Some("its GRO is off, as the lab asks".to_owned()) })
        }
        Napi::Threaded if is_host => {
            let link = Rtnl::open()?.link(&end.device)?;
            Ok(napi::make_threaded(&end.device, link.index))
        }
        Napi::Threaded | Napi::Inline => Ok(NapiState::Inline { reason: None }),
    }
}

fn host(
    node: &Node,
    topology: &Topology,
    namespaces: &Namespaces,
    addresses: &Addresses<'_>,
    napi: &NapiStates<'_>,
) -> Result<Host, LabError> {
    let mut ends = topology.ends().filter(|end| end.node == node.name);
    let given = |end: &End| addresses.get(&key(end)).cloned().unwrap_or_default();
    let found = ends.find_map(|end| Some((end, given(end))).filter(|(_, given)| !given.is_empty()));
    let (end, addresses) =
        found.ok_or_else(|| LabError::InvalidTopology { what: format!("{} has no address", node.name) })?;
    let link = in_node(namespaces, &node.name, || Ok(Rtnl::open()?.link(&end.device)?))?;
    let state = napi.get(&key(end)).cloned();
    Ok(Host {
        name: node.name.clone(),
        device: end.device.clone(),
        address: addresses[0],
        addresses,
        mtu_bytes: link.mtu_bytes,
        netns_fd: namespace_of(namespaces, &node.name)?.as_raw_fd(),
        napi: state.unwrap_or(NapiState::Inline { reason: None }),
    })
}

fn in_node<T>(namespaces: &Namespaces, node: &str, act: impl FnOnce() -> Result<T, LabError>) -> Result<T, LabError> {
    let namespace = namespace_of(namespaces, node)?;
    enter(namespace.as_fd(), Kind::Net)
        .map_err(|error| LabError::build(&format!("enter the network namespace of {node}"), &error))?;
    act()
}

fn namespace_of<'a>(namespaces: &'a Namespaces, node: &str) -> Result<&'a OwnedFd, LabError> {
    let missing = || LabError::InvalidTopology { what: format!("\"{node}\" is no node") };
    namespaces.get(node).ok_or_else(missing)
}
