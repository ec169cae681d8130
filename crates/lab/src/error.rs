//! Why a lab could not be built or used. The program reports all of it as "this host cannot do it".

use std::fmt::Display;
use std::io;

use bitcost_model::Unavailable;
use bitcost_model::topology::Problem;
use bitcost_sys::netlink;
use serde::{Deserialize, Serialize};

/// Why a lab could not be built or used. It travels from the daemon to the controller as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{0}")]
pub struct LabError(pub(crate) String);

impl From<Problem> for LabError {
    fn from(problem: Problem) -> Self {
        LabError::topology(&problem.message)
    }
}

impl From<LabError> for Unavailable {
    fn from(LabError(why): LabError) -> Self {
        Unavailable(why)
    }
}

impl From<netlink::Error> for LabError {
    fn from(error: netlink::Error) -> Self {
        LabError::happened(error)
    }
}

impl LabError {
    /// What happened at a step of building.
    pub(crate) fn happened(happened: impl Display) -> Self {
        LabError(format!("cannot build the lab: {happened}"))
    }

    /// A step of building, `asked` being the rest of a sentence that starts with "cannot".
    pub(crate) fn build(asked: &str, source: &io::Error) -> Self {
        LabError::happened(format!("cannot {asked}: {source}"))
    }

    pub(crate) fn topology(what: &str) -> Self {
        LabError(format!(
            "the lab's topology is not usable: {what}; correct the topology"
        ))
    }

    /// The lab daemon did not start, did not answer in time, or ended.
    pub(crate) fn daemon(happened: impl Display) -> Self {
        LabError(format!("the lab daemon failed: {happened}"))
    }

    pub(crate) fn no_host<'a>(asked: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let known = known.collect::<Vec<_>>().join(", ");
        LabError(format!("the lab has no host \"{asked}\"; it has {known}"))
    }

    /// A link without an emulator cannot be emulated while the lab is running.
    pub(crate) fn no_emulator(device: &str) -> Self {
        LabError(format!(
            "{device} cannot get delay, jitter, loss, reordering, duplication or a limit in segments while the lab is running: nothing here emulates its link, since the kernel has no netem and the link was built without bitcost's link emulator; build the lab with one there: bitcost lab up LAB --emulate {device}"
        ))
    }

    pub(crate) fn of_veth(error: netlink::Error) -> Self {
        match error.is_unsupported() {
            true => LabError(NO_VETH.to_owned()),
            false => error.into(),
        }
    }
}

const NO_VETH: &str = "cannot make the lab's links: this kernel has no veth devices; load the module (sudo modprobe veth) or use a kernel with CONFIG_VETH";
pub(crate) const NO_BRIDGE: &str = "cannot make the lab's switches and wires: this kernel has no bridge devices; load the module (sudo modprobe bridge) or use a kernel with CONFIG_BRIDGE";
pub(crate) const NO_NETEM: &str = "netem was requested, and this kernel does not have it (`unshare -rn tc qdisc add dev lo root netem` shows it); load the module (sudo modprobe sch_netem), use a kernel with CONFIG_NET_SCH_NETEM, or use the link emulator (delay_backend = \"builtin\" or \"auto\")";
