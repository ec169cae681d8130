//! A cable between two hosts (a node of kind `wire`): the hardware part of their network cards.
//!
//! Over a plain veth pair every packet is received inside the call that sends it, so nothing is
//! ever queued, the sender never has more than one message to send, and segmentation offload has no
//! effect. The cable's ports do not accept super-packets, so the kernel segments them there, as a
//! card does. A veth passes packets from a device without TSO to the receiving device's NAPI, where
//! they are queued while the sender continues.
//!
//! That NAPI has a ring of 256 packets. When it is full, packets are dropped unless the sending
//! device has a queue (Linux 6.16 and later; earlier kernels drop them in any case).

use bitcost_model::topology::Topology;
use bitcost_sys::netlink::{Ethtool, Link, Rtnl};

use crate::{LabError, node};

/// The name of the bridge that joins the two ports, in the cable's network namespace.
const BRIDGE: &str = "wire";

/// Limit of each port's queue: more segments than a TCP window has here. UDP can fill any queue.
const QUEUE_PACKETS: u32 = 10_000;

/// Joins the ports of the cable `name`, in whose network namespace the caller is. Returns what this
/// kernel does not support.
pub(crate) fn build(name: &str, topology: &Topology) -> Result<Vec<String>, LabError> {
    node::bridge(BRIDGE, name, topology)?;
    let mut rtnl = Rtnl::open()?;
    let mut notes = Vec::new();
    for port in topology.ends().filter(|end| end.node == name) {
        segment_super_packets(&port.device)?;
        if port.egress.is_nothing() {
            let link = rtnl.link(&port.device)?;
            notes.extend(add_queue(&mut rtnl, &link)?);
        }
    }
    Ok(notes)
}

/// Gives the port `device`, in whose network namespace the caller is, the queue of a port that
/// shapes nothing.
pub(crate) fn restore_queue(device: &str) -> Result<(), LabError> {
    let mut rtnl = Rtnl::open()?;
    let port = rtnl.link(device)?;
    add_queue(&mut rtnl, &port).map(drop)
}

/// Gives a port a queue and reads back that it has one.
fn add_queue(rtnl: &mut Rtnl, port: &Link) -> Result<Option<String>, LabError> {
    match rtnl.set_root_pfifo(port.index, QUEUE_PACKETS) {
        Err(error) if error.is_unsupported() => {
            return Ok(Some(format!(
                "{}: the wire has no queue and drops packets when its ring is full: {error}",
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
    let port = &port.name;
    Err(LabError::happened(format!(
        "{port} was given the queue pfifo and has {found:?}"
    )))
}

/// Makes the kernel segment TCP super-packets before `device`, and reads the features back.
fn segment_super_packets(device: &str) -> Result<(), LabError> {
    let features = Ethtool::open()?.features(device)?;
    let is_tso = |name: &String| name.starts_with("tx-tcp") && name.ends_with("-segmentation");
    let names = features.into_keys().filter(is_tso);
    node::set_features(device, names.map(|name| (name, false)).collect())
        .map_err(LabError::happened)
}
