//! The parts of a node other than its devices: a switch's bridge, a router's forwarding, routes,
//! and permission to ping.

use std::collections::BTreeMap;
use std::fs;

use bitcost_model::topology::{Node, Topology};
use bitcost_sys::netlink::{self, Ethtool, Rtnl};

use crate::LabError;
use crate::error::NO_BRIDGE;

/// Forwarding of both IP versions; each network namespace has separate values.
const FORWARDING: [&str; 2] = ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"];

/// The groups that may open sockets for ICMP echo: root's, the only one that every lab has
/// (icmp(7)).
const PING_GROUPS: (&str, &str) = ("net/ipv4/ping_group_range", "0\t0");

/// Automatic IPv6 addresses are usable at once: no other node can have them (RFC 4862, 5.4).
const NO_DUPLICATES: (&str, &str) = ("net/ipv6/conf/default/accept_dad", "0");

/// No TCP connection starts with metrics that the kernel saved of an earlier one (ip-sysctl.rst,
/// `ip tcp_metrics`).
const NO_METRICS: (&str, &str) = ("net/ipv4/tcp_no_metrics_save", "1");

/// Whether frames that a bridge forwards also pass the rules of IP and ARP filters; each network
/// namespace has separate values, and they exist where the kernel has bridge netfilter. A switch or
/// a wire looks at no IP, and these calls cost CPU time for every frame.
const BRIDGE_NETFILTER: [&str; 3] = [
    "net/bridge/bridge-nf-call-iptables",
    "net/bridge/bridge-nf-call-ip6tables",
    "net/bridge/bridge-nf-call-arptables",
];

/// Prepares the calling process's network namespace, which has no devices yet.
pub(crate) fn prepare() -> Result<(), LabError> {
    [NO_DUPLICATES, NO_METRICS]
        .into_iter()
        .filter(|(name, _): &(&str, &str)| fs::exists(path(name)).unwrap_or(false))
        .try_for_each(|(name, value)| write(name, value))
}

/// Joins the ports of the node `name` by the bridge `bridge`, in whose network namespace the caller
/// is, without filters of other layers.
pub(crate) fn bridge(bridge: &str, name: &str, topology: &Topology) -> Result<(), LabError> {
    let mut rtnl = Rtnl::open()?;
    match rtnl.create_bridge(bridge) {
        Err(error) if error.is_unsupported() => return Err(LabError(NO_BRIDGE.to_owned())),
        outcome => outcome?,
    }
    let bridge = rtnl.link(bridge)?;
    for port in topology.ends().filter(|end| end.node == name) {
        let link = rtnl.link(&port.device)?;
        rtnl.set_master(link.index, bridge.index)?;
    }
    rtnl.set_up(bridge.index, true)?;
    BRIDGE_NETFILTER
        .iter()
        .filter(|name| fs::exists(path(name)).unwrap_or(false))
        .try_for_each(|name| write(name, "0"))
}

/// Makes the calling process's network namespace forward, and reads the setting back.
pub(crate) fn forward() -> Result<(), LabError> {
    FORWARDING
        .iter()
        .filter(|name| fs::exists(path(name)).unwrap_or(false))
        .try_for_each(|name| write(name, "1"))
}

/// Lets programs in the calling process's network namespace ping without further privileges.
pub(crate) fn allow_ping() -> Result<(), LabError> {
    write(PING_GROUPS.0, PING_GROUPS.1)
}

/// Turns features of a device on or off, by the kernel's names, and reads them back.
pub(crate) fn set_features(device: &str, wanted: BTreeMap<String, bool>) -> Result<(), String> {
    let text = |error: netlink::Error| error.to_string();
    let mut ethtool = Ethtool::open().map_err(text)?;
    ethtool.set_features(device, &wanted).map_err(text)?;
    let now = ethtool.features(device).map_err(text)?;
    let is_on = |name: &str| now.get(name).is_some_and(|feature| feature.active);
    match wanted.iter().find(|(name, on)| is_on(name) != **on) {
        Some((name, on)) => {
            let state = if *on { "on" } else { "off" };
            Err(format!("{device} does not turn {name} {state}"))
        }
        None => Ok(()),
    }
}

/// Adds the routes of a node; IPv6 routes only if the kernel supports IPv6.
pub(crate) fn add_routes(node: &Node) -> Result<(), LabError> {
    let mut rtnl = Rtnl::open()?;
    for route in &node.routes {
        match rtnl.add_route(route.to.ip, route.to.prefix_length, route.via) {
            Err(_) if route.to.ip.is_ipv6() && !fs::exists(path("net/ipv6")).unwrap_or(false) => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

fn path(name: &str) -> String {
    format!("/proc/sys/{name}")
}

fn write(name: &str, value: &str) -> Result<(), LabError> {
    let path = path(name);
    fs::write(&path, value)
        .map_err(|error| LabError::build(&format!("write {value} to {path}"), &error))?;
    let now = fs::read_to_string(&path)
        .map_err(|error| LabError::build(&format!("read {path}"), &error))?;
    if now.trim() == value {
        return Ok(());
    }
    let now = now.trim();
    Err(LabError::happened(format!(
        "{path} reads {now} after {value} was written"
    )))
}
