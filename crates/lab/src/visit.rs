//! The way into a lab that stands, for another process than the one that holds it.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use serde::{Deserialize, Serialize};
use sys::namespace::{Kind, enter, show_own_devices};

use crate::LabError;

/// What a visitor must know of a lab that stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Door {
    /// The process that holds the lab.
    pub holder_pid: u32,
    /// The first process of its visitors' PID namespace.
    pub programs_pid: u32,
    /// Whether a user namespace owns the lab.
    pub user_namespace: bool,
    /// The numbers of the holder's file descriptors that refer to the nodes' network namespaces.
    pub nodes: BTreeMap<String, i32>,
}

impl Door {
    /// Moves the calling process, which has one thread, into a node: its user and network namespaces, and a mount table
    /// whose `/sys` shows the node's devices. What the process starts from here on ends with the lab.
    ///
    /// Returns what could not be had, a sentence.
    pub fn enter(&self, node: &str) -> Result<Option<String>, LabError> {
        let fd = self.nodes.get(node).ok_or_else(|| LabError::NoSuchHost {
            asked: node.to_owned(),
            known: self.nodes.keys().cloned().collect(),
        })?;
        // All are opened before the first is entered, which changes what may be opened.
        let net = open(self.holder_pid, &format!("fd/{fd}"))?;
        let pids = open(self.programs_pid, "ns/pid")?;
        if self.user_namespace {
            go(&open(self.holder_pid, "ns/user")?, Kind::User, node)?;
        }
        go(&net, Kind::Net, node)?;
        let devices = show_own_devices();
        go(&pids, Kind::Pid, node)?;
        let note = |error| format!("/sys shows the devices of this machine, not those of {node}: {error}");
        Ok(devices.err().map(note))
    }
}

fn open(pid: u32, file: &str) -> Result<OwnedFd, LabError> {
    let path = format!("/proc/{pid}/{file}");
    match File::open(&path) {
        Ok(file) => Ok(file.into()),
        Err(error) => Err(LabError::holder(format!("cannot open {path}: {error}; the lab is gone, or not yours"))),
    }
}

fn go(namespace: &OwnedFd, kind: Kind, node: &str) -> Result<(), LabError> {
    enter(namespace.as_fd(), kind)
        .map_err(|error| LabError::build(&format!("enter the {} namespace of {node}", kind.link_name()), &error))
}
