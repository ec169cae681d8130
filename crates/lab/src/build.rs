//! Builds a topology: namespaces, links, addresses. Runs in the holder, which has one thread.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use netlink::{Netns, Rtnl, VethPair};
use sys::namespace::{Kind, current, enter, unshare, unshare_user_as_root};

use crate::diagnose::{Facts, diagnose};
use crate::protocol::{Host, NapiState, Ready};
use crate::{End, LabError, Link, Napi, Node, NodeKind, Topology, napi, wire};

/// The network namespaces of a lab, by the names of its nodes; they live while this does.
pub(crate) type Namespaces = BTreeMap<String, OwnedFd>;

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
    let namespaces = make_namespaces(&topology.nodes)?;
    for link in &topology.links {
        make_link(link, &namespaces)?;
    }
    for end in topology.ends() {
        in_node(&namespaces, &end.node, || configure(end))?;
    }
    let mut notes = Vec::new();
    let mut addresses = BTreeMap::new();
    for end in topology.ends() {
        addresses.insert((end.node.as_str(), end.device.as_str()), in_node(&namespaces, &end.node, || address(end))?);
    }
    for wire in topology.nodes.iter().filter(|node| node.kind == NodeKind::Wire) {
        notes.extend(in_node(&namespaces, &wire.name, || wire::build(&wire.name, topology))?);
    }
    // The peer must be up before a device has a carrier: threads come when all ends are up.
    let mut napi = BTreeMap::new();
    for end in topology.ends() {
        let state = in_node(&namespaces, &end.node, || apply_napi(topology, end))?;
        napi.insert((end.node.as_str(), end.device.as_str()), state);
    }
    let is_host = |node: &&Node| node.kind == NodeKind::Host;
    let hosts = topology.nodes.iter().filter(is_host).map(|node| host(node, topology, &namespaces, &addresses, &napi));
    let hosts = hosts.collect::<Result<_, _>>()?;
    let fd = |node: &Node| Ok((node.name.clone(), namespace_of(&namespaces, &node.name)?.as_raw_fd()));
    let nodes = topology.nodes.iter().map(fd).collect::<Result<_, LabError>>()?;
    Ok((namespaces, Ready { user_namespace, hosts, nodes, notes }))
}

fn make_namespaces(nodes: &[Node]) -> Result<Namespaces, LabError> {
    let mut namespaces = Namespaces::new();
    for node in nodes {
        let made = unshare(&[Kind::Net]).and_then(|()| current(Kind::Net));
        let namespace = made.map_err(|error| no_namespace(&node.name, &error))?;
        namespaces.insert(node.name.clone(), namespace);
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
    let mut rtnl = Rtnl::open()?;
    let link = rtnl.link(&end.device)?;
    Ok(rtnl.set_up(link.index, true)?)
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

/// A wire has no receive side of its own: its work is done by whoever sends.
fn apply_napi(topology: &Topology, end: &End) -> Result<NapiState, LabError> {
    let is_host = topology.node(&end.node).is_some_and(|node| node.kind == NodeKind::Host);
    match topology.napi {
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
    addresses: &BTreeMap<(&str, &str), Vec<IpAddr>>,
    napi: &BTreeMap<(&str, &str), NapiState>,
) -> Result<Host, LabError> {
    let mut ends = topology.ends().filter(|end| end.node == node.name);
    let given = |end: &End| addresses.get(&(end.node.as_str(), end.device.as_str())).cloned().unwrap_or_default();
    let found = ends.find_map(|end| Some((end, given(end))).filter(|(_, given)| !given.is_empty()));
    let (end, addresses) =
        found.ok_or_else(|| LabError::InvalidTopology { what: format!("{} has no address", node.name) })?;
    let link = in_node(namespaces, &node.name, || Ok(Rtnl::open()?.link(&end.device)?))?;
    let state = napi.get(&(end.node.as_str(), end.device.as_str())).cloned();
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
