//! Builds a topology: namespaces, links, addresses. Runs in the holder, which has one thread.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use model::topology::{End, Link, Napi, Node, NodeKind, Topology};
use netlink::{Ethtool, Netns, Rtnl, VethPair};
use sys::namespace::{Kind, current, enter, unshare, unshare_user_as_root};

use crate::diagnose::{Facts, diagnose};
use crate::protocol::{Host, NapiState, Ready};
use crate::{LabError, delay, napi, node, shape, wire};

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
pub(crate) fn build(topology: &Topology, user_namespace: bool) -> Result<(Namespaces, Ready), LabError> {
    let has_netem = shape::has_netem()?;
    let namespaces = make_namespaces(&topology.nodes)?;
    for link in &topology.links {
        make_link(link, &namespaces)?;
    }
    for end in topology.ends() {
        in_node(&namespaces, &end.node, || configure(end))?;
    }
    let mut addresses = Addresses::new();
    for end in topology.ends() {
        addresses.insert(key(end), in_node(&namespaces, &end.node, || address(end))?);
    }
    let mut notes = Vec::new();
    for node in &topology.nodes {
        notes.extend(in_node(&namespaces, &node.name, || equip(node, topology))?);
    }
    // The peer must be up before a device has a carrier: threads come when all ends are up.
    let mut napi = NapiStates::new();
    for end in topology.ends() {
        let state = in_node(&namespaces, &end.node, || apply_napi(topology, end))?;
        napi.insert(key(end), state);
    }
    shape_links(topology, &namespaces, has_netem)?;
    let is_addressed = |node: &&Node| node.kind == NodeKind::Host && topology.address(&node.name).is_some();
    let hosts = topology.nodes.iter().filter(is_addressed);
    let hosts = hosts.map(|node| host(node, topology, &namespaces, &addresses, &napi)).collect::<Result<_, _>>()?;
    let fd = |node: &Node| Ok((node.name.clone(), namespace_of(&namespaces, &node.name)?.as_raw_fd()));
    let nodes = topology.nodes.iter().map(fd).collect::<Result<_, LabError>>()?;
    Ok((namespaces, Ready { user_namespace, hosts, nodes, programs_pid: None, notes }))
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

/// Shapes every link by the kernel, and where that cannot by a line.
fn shape_links(topology: &Topology, namespaces: &Namespaces, has_netem: bool) -> Result<(), LabError> {
    let is_carried = |link: &&Link| delay::needs_line(link, has_netem);
    let carried: Vec<delay::Carried> =
        topology.links.iter().filter(is_carried).map(|link| delay::Carried { link }).collect();
    delay::start(&carried)?;
    for link in &topology.links {
        for end in link.ends.iter().filter(|end| !end.egress.is_nothing()) {
            in_node(namespaces, &end.node, || shape::apply(end, link.mtu_bytes))?;
        }
    }
    Ok(())
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
