//! Entering a running lab from another process than the one that holds it.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use bitcost_model::topology::Topology;
use bitcost_sys::namespace::{
    Kind, cover_file, enter, own_host_name, own_mounts, show_own_devices,
};

use crate::protocol::Ready;
use crate::state::State;
use crate::{LabError, names};

const HOSTS: &str = "/etc/hosts";

impl Ready {
    pub(crate) fn file(&self, fd: i32) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{fd}", self.daemon_pid))
    }

    pub fn state_file(&self) -> Option<PathBuf> {
        Some(self.file(self.state_fd?))
    }
}

impl State {
    /// Moves the calling process, which has one thread, into a node: its user and network
    /// namespaces, a mount table whose `/sys` shows the node's devices and whose `/etc/hosts` names
    /// the lab's nodes, and the node's host name. Processes that it starts afterwards end with the
    /// lab.
    ///
    /// Returns a sentence for each thing that is missing.
    pub fn enter(&self, node: &str) -> Result<Vec<String>, LabError> {
        let ready = &self.ready;
        let mut nodes = ready.nodes.iter();
        let found = nodes.find(|(name, _)| name == node);
        let known = ready.nodes.iter().map(|(name, _)| name.as_str());
        let (_, fd) = found.ok_or_else(|| LabError::no_host(node, known))?;
        // All are opened before the first is entered, since that changes what may be opened.
        let net = open(ready.daemon_pid, &format!("fd/{fd}"))?;
        let pids = open(ready.init_pid.unwrap_or_default(), "ns/pid")?;
        if ready.user_namespace {
            go(&open(ready.daemon_pid, "ns/user")?, Kind::User, node)?;
        }
        go(&net, Kind::Net, node)?;
        let notes = dress(node, &self.topology);
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

pub(crate) fn open(pid: u32, file: &str) -> Result<OwnedFd, LabError> {
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
