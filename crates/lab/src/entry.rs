//! Entering a running lab from another process than the one that holds it.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use bitcost_sys::namespace::{Kind, enter, show_own_devices};
use serde::{Deserialize, Serialize};

use crate::LabError;

/// The data that a process needs to enter a running lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The process id of the lab daemon.
    #[serde(alias = "holder_pid")]
    pub daemon_pid: u32,
    /// The first process of the lab's PID namespace.
    #[serde(alias = "programs_pid")]
    pub init_pid: u32,
    /// Whether a user namespace owns the lab.
    pub user_namespace: bool,
    /// The numbers of the daemon's file descriptors of the nodes' network namespaces.
    pub nodes: BTreeMap<String, i32>,
}

impl Entry {
    /// Moves the calling process, which has one thread, into a node: its user and network
    /// namespaces, and a mount table whose `/sys` shows the node's devices. Processes that it
    /// starts afterwards end with the lab.
    ///
    /// Returns a sentence about what is missing, if anything.
    pub fn enter(&self, node: &str) -> Result<Option<String>, LabError> {
        let fd = self.nodes.get(node).ok_or_else(|| LabError::NoSuchHost {
            asked: node.to_owned(),
            known: self.nodes.keys().cloned().collect(),
        })?;
        // All are opened before the first is entered, since that changes what may be opened.
        let net = open(self.daemon_pid, &format!("fd/{fd}"))?;
        let pids = open(self.init_pid, "ns/pid")?;
        if self.user_namespace {
            go(&open(self.daemon_pid, "ns/user")?, Kind::User, node)?;
        }
        go(&net, Kind::Net, node)?;
        let devices = show_own_devices();
        go(&pids, Kind::Pid, node)?;
        let note =
            |error| format!("/sys shows the devices of this machine, not those of {node}: {error}");
        Ok(devices.err().map(note))
    }
}

fn open(pid: u32, file: &str) -> Result<OwnedFd, LabError> {
    let path = format!("/proc/{pid}/{file}");
    match File::open(&path) {
        Ok(file) => Ok(file.into()),
        Err(error) => Err(LabError::daemon(format!(
            "cannot open {path}: {error}; the lab is gone, or not yours"
        ))),
    }
}

fn go(namespace: &OwnedFd, kind: Kind, node: &str) -> Result<(), LabError> {
    enter(namespace.as_fd(), kind).map_err(|error| {
        LabError::build(
            &format!("enter the {} namespace of {node}", kind.link_name()),
            &error,
        )
    })
}
