//! A wire between two hosts: the part of their network cards that is hardware.
//!
//! Over a bare veth pair every packet is received inside the call that sends it, so nothing ever
//! waits, the sender never has more than one message to hand over, and segmentation offload has
//! nothing to do. The wire's ports do not take super-packets, so the kernel cuts them there into
//! segments, as a card does. A veth hands what comes from a device without TSO to the receiving
//! device's NAPI, where it waits its turn while the sender goes on.
//!
//! That NAPI has a ring of 256 packets. What does not fit is dropped where the sending device has no
//! queue; with one it waits there (Linux 6.16 and later; earlier kernels drop it all the same).

use std::collections::BTreeMap;

use model::topology::Topology;
use netlink::{Ethtool, Link, Rtnl};

use crate::{LabError, node};

/// The name of the bridge that joins the two ports, in the wire's own network namespace.
const BRIDGE: &str = "wire";

/// Room of each port's queue: more segments than a TCP window holds here. UDP can fill any queue.
const QUEUE_PACKETS: u32 = 10_000;

/// Joins the ports of the wire `name`, in whose network namespace the caller is. Returns what this kernel
/// does not have.
pub(crate) fn build(name: &str, topology: &Topology) -> Result<Vec<String>, LabError> {
    node::bridge(BRIDGE, name, topology)?;
    let mut rtnl = Rtnl::open()?;
    let mut notes = Vec::new();
    for port in topology.ends().filter(|end| end.node == name) {
        cut_super_packets(&port.device)?;
        if port.egress.is_nothing() {
            let link = rtnl.link(&port.device)?;
            notes.extend(add_queue(&mut rtnl, &link)?);
        }
    }
    Ok(notes)
}

/// Gives a port a queue and reads back that it has one.
fn add_queue(rtnl: &mut Rtnl, port: &Link) -> Result<Option<String>, LabError> {
    match rtnl.set_root_pfifo(port.index, QUEUE_PACKETS) {
        Err(error) if error.is_unsupported() => {
            return Ok(Some(format!(
                "{}: the wire has no queue and drops what its ring cannot hold: {error}",
                port.name
            )));
        }
        outcome => outcome?,
    }
    let qdiscs = rtnl.qdiscs(port.index)?;
    if qdiscs.iter().any(|qdisc| qdisc.kind == "pfifo") {
        return Ok(None);
    }
    let found: Vec<&str> = qdiscs.iter().map(|qdisc| qdisc.kind.as_str()).collect();
    Err(LabError::Build { happened: format!("{} was given the queue pfifo and has {found:?}", port.name) })
}

/// Makes the kernel segment TCP super-packets before `device` gets them, and reads back that it will.
fn cut_super_packets(device: &str) -> Result<(), LabError> {
    let mut ethtool = Ethtool::open()?;
    let is_tso = |name: &str| name.starts_with("tx-tcp") && name.ends_with("-segmentation");
    let features = ethtool.features(device)?;
    let off: BTreeMap<String, bool> =
        features.into_keys().filter(|name| is_tso(name)).map(|name| (name, false)).collect();
    ethtool.set_features(device, &off)?;
    let now = ethtool.features(device)?;
    match now.iter().find(|(name, feature)| is_tso(name) && feature.active) {
        Some((name, _)) => Err(LabError::Build { happened: format!("{device} does not turn {name} off") }),
        None => Ok(()),
    }
}
