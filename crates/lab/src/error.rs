//! Why a lab could not be built or used. The program reports all of it as "this host cannot do it".

use serde::{Deserialize, Serialize};

/// Why a lab could not be built or used. It travels from the daemon to the controller as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum LabError {
    /// Neither root nor user namespaces are available.
    #[error("cannot make the lab's namespaces: {reason}; {remedy}")]
    NoUserNamespaces { reason: String, remedy: String },
    #[error(
        "cannot make the lab's links: this kernel has no veth devices; \
         load the module (sudo modprobe veth) or use a kernel with CONFIG_VETH"
    )]
    NoVeth,
    #[error(
        "cannot make the lab's switches and wires: this kernel has no bridge devices; \
         load the module (sudo modprobe bridge) or use a kernel with CONFIG_BRIDGE"
    )]
    NoBridge,
    #[error("the lab's topology is not usable: {what}; correct the topology")]
    InvalidTopology { what: String },
    #[error(
        "netem was requested, and this kernel does not have it (`unshare -rn tc qdisc add dev lo root netem` shows it); load the \
         module (sudo modprobe sch_netem), use a kernel with CONFIG_NET_SCH_NETEM, or use the link emulator \
         (delay_backend = \"builtin\" or \"auto\")"
    )]
    NoNetem,
    /// A link without an emulator cannot be emulated while the lab is running.
    #[error(
        "{device} cannot get delay, jitter, loss, reordering, duplication or a limit in segments while the lab is running: \
         nothing here emulates its link, since the kernel has no netem and the link was built without bitcost's link emulator; \
         build the lab with one there: bitcost lab up LAB --emulate {device}"
    )]
    NoEmulator { device: String },
    #[error("cannot build the lab: {happened}")]
    Build { happened: String },
    /// The lab daemon did not start, did not answer in time, or ended.
    #[error("the lab daemon failed: {happened}")]
    Daemon { happened: String },
    #[error("the lab has no host \"{asked}\"; it has {}", known.join(", "))]
    NoSuchHost { asked: String, known: Vec<String> },
}

impl From<bitcost_model::topology::Problem> for LabError {
    fn from(problem: bitcost_model::topology::Problem) -> Self {
        LabError::InvalidTopology {
            what: problem.message,
        }
    }
}

impl From<LabError> for bitcost_model::Unavailable {
    fn from(error: LabError) -> Self {
        bitcost_model::Unavailable(error.to_string())
    }
}

impl From<bitcost_sys::netlink::Error> for LabError {
    fn from(error: bitcost_sys::netlink::Error) -> Self {
        LabError::Build {
            happened: error.to_string(),
        }
    }
}

impl LabError {
    pub(crate) fn of_veth(error: bitcost_sys::netlink::Error) -> Self {
        match error.is_unsupported() {
            true => LabError::NoVeth,
            false => error.into(),
        }
    }

    /// A step of building, `asked` being the rest of a sentence that starts with "cannot".
    pub(crate) fn build(asked: &str, source: &std::io::Error) -> Self {
        LabError::Build {
            happened: format!("cannot {asked}: {source}"),
        }
    }

    pub(crate) fn daemon(happened: impl Into<String>) -> Self {
        LabError::Daemon {
            happened: happened.into(),
        }
    }
}
