//! Why a lab could not be had; for the program, all of it is "this host cannot do it".

use serde::{Deserialize, Serialize};

/// Why a lab could not be had. It travels from the holder to the controller as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum LabError {
    /// Neither root nor user namespaces are available.
    #[error("cannot make the lab's namespaces: {reason}; {remedy}")]
    NoUserNamespaces {
        /// What stands in the way.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// The kernel has no virtual Ethernet pairs.
    #[error(
        "cannot make the lab's links: this kernel has no veth devices; \
         load the module (sudo modprobe veth) or use a kernel with CONFIG_VETH"
    )]
    NoVeth,
    /// The kernel has no bridges.
    #[error(
        "cannot make the lab's switches and wires: this kernel has no bridge devices; \
         load the module (sudo modprobe bridge) or use a kernel with CONFIG_BRIDGE"
    )]
    NoBridge,
    /// The description contradicts itself.
    #[error("the lab's topology is not usable: {what}; correct the topology")]
    InvalidTopology {
        /// What is wrong in it.
        what: String,
    },
    /// netem was asked for by name.
    #[error(
        "netem was asked for, and this kernel has none (`unshare -rn tc qdisc add dev lo root netem` shows it); load the \
         module (sudo modprobe sch_netem), use a kernel with CONFIG_NET_SCH_NETEM, or take the delay line \
         (delay_backend = \"builtin\" or \"auto\")"
    )]
    NoNetem,
    /// A step of building failed.
    #[error("cannot build the lab: {happened}")]
    Build {
        /// What was asked, and what happened.
        happened: String,
    },
    /// The process that holds the lab did not start, did not answer in time, or ended.
    #[error("cannot hold the lab: {happened}")]
    Holder {
        /// What happened.
        happened: String,
    },
    /// There is no such host or node.
    #[error("the lab has no host \"{asked}\"; it has {}", known.join(", "))]
    NoSuchHost {
        /// The name asked for.
        asked: String,
        /// The names there are.
        known: Vec<String>,
    },
}

impl From<model::topology::Problem> for LabError {
    fn from(problem: model::topology::Problem) -> Self {
        LabError::InvalidTopology { what: problem.message }
    }
}

impl From<netlink::Error> for LabError {
    fn from(error: netlink::Error) -> Self {
        LabError::Build { happened: error.to_string() }
    }
}

impl LabError {
    /// A step of building, `asked` being the rest of a sentence that begins with "cannot".
    pub(crate) fn build(asked: &str, source: &std::io::Error) -> Self {
        LabError::Build { happened: format!("cannot {asked}: {source}") }
    }

    /// Something that happened to the holder.
    pub(crate) fn holder(happened: impl Into<String>) -> Self {
        LabError::Holder { happened: happened.into() }
    }
}
