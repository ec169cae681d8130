//! Builds a topology: namespaces, links, addresses. Runs in the daemon, which has one thread.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use bitcost_model::shaping::{DelayBackend, Shaping};
use bitcost_model::topology::{End, Link, Napi, Node, NodeKind, Topology};
use bitcost_sys::namespace::{Kind, current, enter, unshare, unshare_user_as_root};
use bitcost_sys::netlink::{Rtnl, VethPair};

use crate::diagnose::diagnose;
use crate::emulated_links::EmulatedLinks;
use crate::error::NO_NETEM;
use crate::protocol::{Host, NapiState, Ready};
use crate::{LabError, cable, carrier, emulated_links, napi, node, shape};

/// The network namespaces of a lab, by the names of its nodes; they live while this does.
pub(crate) type Namespaces = BTreeMap<String, OwnedFd>;

/// The addresses that each device was given, and where it receives, by its node and name.
type Devices<'a> = BTreeMap<(&'a str, &'a str), (Vec<IpAddr>, NapiState)>;

/// Moves this process out of the host's mount and network namespaces.
///
/// Returns whether this needed a user namespace: always for an ordinary user, and for a root
/// without `CAP_SYS_ADMIN`.
pub(crate) fn isolate() -> Result<bool, LabError> {
    let has_user_namespace = match unshare(&[Kind::Mount, Kind::Net]) {
        Ok(()) => false,
        Err(_) => {
            let made = unshare_user_as_root().and_then(|()| unshare(&[Kind::Mount, Kind::Net]));
            made.map_err(|error| diagnose(&error))?;
            true
        }
    };
    Ok(has_user_namespace)
}

/// Builds a checked topology in an isolated process. The links of the devices in `emulate` get a
/// link emulator where one is needed for delays, even if they have none yet.
pub(crate) fn build(
    topology: &Topology,
    emulate: &[String],
    user_namespace: bool,
) -> Result<(Network, Ready), LabError> {
    let (has_emulators, note) = emulator(topology, emulate)?;
    let namespaces = make_namespaces(&topology.nodes)?;
    let mut emulators = has_emulators.then(EmulatedLinks::new).transpose()?;
    for link in &topology.links {
        match &emulators {
            Some(emulators) if emulated_links::carries(link, emulate) => {
                emulators.make_link(link, |node| Ok(namespace_of(&namespaces, node)?.as_fd()))?;
            }
            _ => make_link(link, &namespaces)?,
        }
    }
    let mut devices = Devices::new();
    for end in topology.ends() {
        let given = in_node(&namespaces, &end.node, || configure(end))?;
        let inline = NapiState::Inline { reason: None };
        devices.insert((&end.node, &end.device), (given, inline));
    }
    let mut notes = Vec::from_iter(note);
    for node in &topology.nodes {
        notes.extend(in_node(&namespaces, &node.name, || equip(node, topology))?);
    }
    // The peer must be up before a device has a carrier: threads are set when all endpoints are up.
    for end in topology.ends() {
        if let Some((_, state)) = devices.get_mut(&(end.node.as_str(), end.device.as_str())) {
            *state = in_node(&namespaces, &end.node, || apply_napi(topology, end))?;
        }
    }
    if let Some(emulators) = &mut emulators {
        let links = topology.links.iter();
        let links = links.filter(|link| emulated_links::carries(link, emulate));
        let count = links.clone().count();
        for link in links {
            notes.extend(emulators.start(link, count)?);
        }
    }
    let network = Network {
        topology: topology.clone(),
        namespaces,
        emulators,
    };
    for link in &topology.links {
        // The kernel shapes what needs no emulator.
        let is_emulated = |end: &End| end.egress.needs_emulator() && network.emulators.is_some();
        let ends = link.ends.iter();
        for end in ends.filter(|end| !end.egress.is_nothing() && !is_emulated(end)) {
            in_node(&network.namespaces, &end.node, || {
                shape::apply(end, link.mtu_bytes)
            })?;
        }
    }
    for end in topology.ends() {
        in_node(&network.namespaces, &end.node, || carrier::wait(end))?;
    }
    let ready = ready(&network, user_namespace, &devices, notes)?;
    Ok((network, ready))
}

fn ready(
    network: &Network,
    user_namespace: bool,
    devices: &Devices,
    notes: Vec<String>,
) -> Result<Ready, LabError> {
    let (topology, namespaces) = (&network.topology, &network.namespaces);
    let mut hosts = Vec::new();
    let mut nodes = Vec::new();
    for node in &topology.nodes {
        if node.kind == NodeKind::Host && topology.address(&node.name).is_some() {
            hosts.push(host(node, topology, namespaces, devices)?);
        }
        let fd = namespace_of(namespaces, &node.name)?.as_raw_fd();
        nodes.push((node.name.clone(), fd));
    }
    let daemon_pid = bitcost_sys::process::id_in_proc()
        .map_err(|error| LabError::build("read /proc/self", &error))?;
    Ok(Ready {
        daemon_pid,
        user_namespace,
        hosts,
        nodes,
        emulators_fd: network.emulators.as_ref().map(EmulatedLinks::file),
        init_pid: None,
        state_fd: None,
        notes,
    })
}

/// A running network; dropping it removes the network.
#[derive(Debug)]
pub(crate) struct Network {
    topology: Topology,
    namespaces: Namespaces,
    emulators: Option<EmulatedLinks>,
}

impl Network {
    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Changes what these devices do to packets that leave by them, and reads it back. Returns a
    /// sentence for each thing to know.
    ///
    /// # Errors
    /// When one of them cannot be changed; all are then as they were.
    pub(crate) fn set(&mut self, wanted: &[(String, Shaping)]) -> Result<Vec<String>, LabError> {
        let before = self.topology.clone();
        let mut notes = Vec::new();
        for (done, (device, shaping)) in wanted.iter().enumerate() {
            match self.set_one(device, shaping) {
                Ok(note) => notes.extend(note),
                Err(error) => {
                    for (device, _) in wanted[..=done].iter().rev() {
                        if let Some(end) = before.end(device) {
                            self.set_one(device, &end.egress)?;
                        }
                    }
                    return Err(error);
                }
            }
        }
        Ok(notes)
    }

    fn set_one(&mut self, device: &str, shaping: &Shaping) -> Result<Option<String>, LabError> {
        let has_emulator = self.emulators.as_ref().is_some_and(|all| all.has(device));
        let is_so = |end: &End| end.device == device && end.egress == *shaping;
        if !has_emulator && self.topology.ends().any(is_so) {
            return Ok(None);
        }
        if shaping.needs_emulator() && !has_emulator && !self.can_use_netem()? {
            return Err(LabError::no_emulator(device));
        }
        let note = match &mut self.emulators {
            Some(emulators) if has_emulator => emulators.set(device, shaping)?,
            _ => None,
        };
        let mut links = self.topology.links.iter_mut();
        let found = links.find_map(|link| {
            let mut ends = link.ends.iter_mut();
            Some((ends.find(|end| end.device == device)?, link.mtu_bytes))
        });
        let (end, mtu_bytes) =
            found.ok_or_else(|| LabError::topology(&format!("\"{device}\" is not a device")))?;
        // Where a link has an emulator, the kernel makes only what needs none.
        let by_kernel = |shaping: &Shaping| match has_emulator && shaping.needs_emulator() {
            true => Shaping::default(),
            false => shaping.clone(),
        };
        let before = by_kernel(&std::mem::replace(&mut end.egress, shaping.clone()));
        let end = End {
            egress: by_kernel(shaping),
            ..end.clone()
        };
        let node = self.topology.node(&end.node);
        let is_wire = node.is_some_and(|node| node.kind == NodeKind::Wire);
        in_node(&self.namespaces, &end.node, || {
            shape_by_kernel(&end, &before, mtu_bytes, is_wire)
        })?;
        Ok(note)
    }

    fn can_use_netem(&self) -> Result<bool, LabError> {
        let is_wanted = self.emulators.is_none()
            && !matches!(self.topology.delay_backend, DelayBackend::Builtin);
        Ok(is_wanted && has_netem()?)
    }
}

/// Whether the kernel has netem, tried in a separate network namespace.
fn has_netem() -> Result<bool, LabError> {
    unshare(&[Kind::Net]).map_err(|error| LabError::build("make a network namespace", &error))?;
    shape::has_netem()
}

/// Makes the kernel shape what leaves by the device of `end`, in whose network namespace the caller
/// is; before it shaped `before`. A port of a wire has a queue where nothing is shaped.
fn shape_by_kernel(
    end: &End,
    before: &Shaping,
    mtu_bytes: u32,
    is_wire: bool,
) -> Result<(), LabError> {
    if end.egress == *before {
        return Ok(());
    }
    if !end.egress.is_nothing() {
        return shape::change(end, before, mtu_bytes);
    }
    shape::clear(&end.device)?;
    if is_wire {
        cable::restore_queue(&end.device)?;
    }
    Ok(())
}

/// Whether link emulators do what needs emulation (else netem does), and a sentence about it if
/// anything needs emulation.
fn emulator(topology: &Topology, emulate: &[String]) -> Result<(bool, Option<String>), LabError> {
    if !topology.ends().any(|end| end.egress.needs_emulator()) && emulate.is_empty() {
        return Ok((false, None));
    }
    let by_line = match topology.delay_backend {
        DelayBackend::Builtin => true,
        DelayBackend::Auto => !shape::has_netem()?,
        DelayBackend::Netem if shape::has_netem()? => false,
        DelayBackend::Netem => return Err(LabError(NO_NETEM.to_owned())),
    };
    let who = match (by_line, topology.delay_backend) {
        (false, _) => "the kernel's netem",
        (true, DelayBackend::Builtin) => "bitcost's link emulator, as requested",
        (true, _) => "bitcost's link emulator, because this kernel has no netem",
    };
    Ok((
        by_line,
        Some(format!(
            "delay, jitter, loss, reordering and duplication are made by {who}"
        )),
    ))
}

/// Turns a namespace with its devices into a node of its kind. Returns what this kernel does not
/// support.
fn equip(node: &Node, topology: &Topology) -> Result<Vec<String>, LabError> {
    match node.kind {
        NodeKind::Wire => return cable::build(&node.name, topology),
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
    LabError::build(
        &format!("make the network namespace of {node} (see /proc/sys/user/max_net_namespaces)"),
        error,
    )
}

fn make_link(link: &Link, namespaces: &Namespaces) -> Result<(), LabError> {
    let [near, far] = &link.ends;
    let peer = namespace_of(namespaces, &far.node)?;
    in_node(namespaces, &near.node, || {
        let pair = VethPair {
            name: &near.device,
            peer_name: &far.device,
            peer_netns: Some(peer.as_fd()),
            mtu_bytes: link.mtu_bytes,
        };
        Rtnl::open()?.create_veth(&pair).map_err(LabError::of_veth)
    })
}

/// Sets a device up and gives it its addresses, those of IPv6 only if the kernel supports IPv6. Returns those that it has.
fn configure(end: &End) -> Result<Vec<IpAddr>, LabError> {
    if end.gro_off {
        node::set_features(&end.device, [("rx-gro".to_owned(), false)].into())
            .map_err(LabError::happened)?;
    }
    let mut rtnl = Rtnl::open()?;
    let link = rtnl.link(&end.device)?;
    rtnl.set_up(link.index, true)?;
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

/// Only hosts receive; the work of switches, routers and cables is done by the sender. NAPI needs
/// GRO.
fn apply_napi(topology: &Topology, end: &End) -> Result<NapiState, LabError> {
    let is_host = topology
        .node(&end.node)
        .is_some_and(|node| node.kind == NodeKind::Host);
    match topology.napi {
        Napi::Threaded if is_host && end.gro_off => Ok(NapiState::Inline {
            reason: Some("its GRO is off, as the lab asks".to_owned()),
        }),
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
    devices: &Devices<'_>,
) -> Result<Host, LabError> {
    let mut ends = topology.ends().filter(|end| end.node == node.name);
    let found = ends.find_map(|end| {
        let (given, napi) = devices.get(&(end.node.as_str(), end.device.as_str()))?;
        (!given.is_empty()).then_some((end, given, napi))
    });
    let (end, addresses, napi) =
        found.ok_or_else(|| LabError::topology(&format!("{} has no address", node.name)))?;
    let link = in_node(namespaces, &node.name, || {
        Ok(Rtnl::open()?.link(&end.device)?)
    })?;
    Ok(Host {
        name: node.name.clone(),
        device: end.device.clone(),
        address: addresses[0],
        addresses: addresses.clone(),
        mtu_bytes: link.mtu_bytes,
        netns_fd: namespace_of(namespaces, &node.name)?.as_raw_fd(),
        napi: napi.clone(),
    })
}

fn in_node<T>(
    namespaces: &Namespaces,
    node: &str,
    act: impl FnOnce() -> Result<T, LabError>,
) -> Result<T, LabError> {
    let namespace = namespace_of(namespaces, node)?;
    enter(namespace.as_fd(), Kind::Net).map_err(|error| {
        LabError::build(&format!("enter the network namespace of {node}"), &error)
    })?;
    act()
}

fn namespace_of<'a>(namespaces: &'a Namespaces, node: &str) -> Result<&'a OwnedFd, LabError> {
    let missing = || LabError::topology(&format!("\"{node}\" is not a node"));
    namespaces.get(node).ok_or_else(missing)
}
