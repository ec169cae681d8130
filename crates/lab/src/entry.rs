//! Entering a running lab from another process than the one that holds it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use bitcost_model::topology::Topology;
use bitcost_sys::namespace::{
    Kind, cover_file, enter, own_host_name, own_mounts, show_own_devices,
};
use serde::{Deserialize, Serialize};

use crate::{LabError, names};

/// The file with names of hosts (hosts(5)).
const HOSTS: &str = "/etc/hosts";

/// The data that a process needs to enter a running lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The process id of the lab daemon.
    pub daemon_pid: u32,
    /// The first process of the lab's PID namespace.
    pub init_pid: u32,
    pub user_namespace: bool,
    /// The numbers of the daemon's file descriptors of the nodes' network namespaces.
    pub nodes: BTreeMap<String, i32>,
    /// The number of the daemon's file descriptor of the file with the lab's present state.
    #[serde(default)]
    pub state_fd: Option<i32>,
}

impl Entry {
    pub fn state_file(&self) -> Option<PathBuf> {
        let fd = self.state_fd?;
        Some(PathBuf::from(format!("/proc/{}/fd/{fd}", self.daemon_pid)))
    }

    /// Moves the calling process, which has one thread, into a node: its user and network
    /// namespaces, a mount table whose `/sys` shows the node's devices and whose `/etc/hosts` names
    /// the lab's nodes, and the node's host name. Processes that it starts afterwards end with the
    /// lab.
    ///
    /// Returns a sentence for each thing that is missing.
    pub fn enter(&self, node: &str, topology: &Topology) -> Result<Vec<String>, LabError> {
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
        let notes = dress(node, topology);
        go(&pids, Kind::Pid, node)?;
        Ok(notes)
    }
}

/// Gives the calling process what a node has apart from its network: devices in `/sys`, names in
/// `/etc/hosts`, a host name. Returns a sentence for each thing that is missing.
fn dress(node: &str, topology: &Topology) -> Vec<String> {
    let mounts = own_mounts();
    let is_own = |mounts: &io::Result<()>| match mounts {
        Ok(()) => Ok(()),
        Err(error) => Err(io::Error::from(error.kind())),
    };
    let devices = is_own(&mounts).and_then(|()| show_own_devices());
    let hosts = Path::new(HOSTS);
    let names = is_own(&mounts).and_then(|()| {
        let machine = fs::read_to_string(hosts)?;
        cover_file(hosts, &names::hosts_file(topology, node, &machine))
    });
    let missing = [
        (
            devices,
            format!("/sys shows the devices of this machine, not those of {node}"),
        ),
        (names, format!("names of nodes have no addresses in {node}")),
        (
            own_host_name(node),
            format!("the host name in {node} is that of this machine"),
        ),
    ];
    let missing = missing.into_iter();
    missing
        .filter_map(|(outcome, what)| Some(format!("{what}: {}", outcome.err()?)))
        .collect()
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
