//! The protocol of the controller and the lab daemon, a line of JSON for each request and answer:
//! [`Request`], to which the answer is [`Ready`], and then any number of [`Set`], to which it is a
//! sentence for each thing to know; or [`crate::LabError`].

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use bitcost_model::shaping::Shaping;
use bitcost_model::topology::Topology;

#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// The process id of the controller, which the daemon must not outlive.
    pub controller_pid: u32,
    pub topology: Topology,
    /// Devices whose links get a link emulator although they do not need one yet.
    #[serde(default)]
    pub emulate: Vec<String>,
    /// Whether other processes than the controller will start programs in it.
    pub is_enterable: bool,
}

/// The order to change what these devices do to packets that leave by them.
#[derive(Debug, Serialize, Deserialize)]
pub struct Set {
    /// The time of the change: local time with offset (RFC 3339).
    pub at: String,
    /// Each device with its whole shaping.
    pub wanted: Vec<(String, Shaping)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The daemon's process id in `/proc`.
    pub daemon_pid: u32,
    /// Whether a user namespace owns the hosts; otherwise the controller's own does.
    pub user_namespace: bool,
    pub hosts: Vec<Host>,
    /// Every node, in the order of the topology: its name, and the number of the daemon's file
    /// descriptor that refers to its network namespace.
    pub nodes: Vec<(String, i32)>,
    /// The number of the daemon's file descriptor of the file with the link emulators' counters;
    /// `None` without emulators.
    pub emulators_fd: Option<i32>,
    /// The first process of the lab's PID namespace; `None` when only the controller starts
    /// programs.
    pub init_pid: Option<u32>,
    /// The number of the daemon's file descriptor of the file with the lab's present state; `None`
    /// when only the controller starts programs.
    pub state_fd: Option<i32>,
    /// The features of the links that the kernel does not support, one sentence each.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    pub name: String,
    /// Its first device that has an address.
    pub device: String,
    pub address: IpAddr,
    /// The addresses of that device, one of IPv6 only if the kernel supports IPv6.
    pub addresses: Vec<IpAddr>,
    /// The MTU of that device, in bytes, read back.
    pub mtu_bytes: u32,
    /// The number of the daemon's file descriptor that refers to its network namespace.
    pub netns_fd: i32,
    /// The place where the receive work of that device is done.
    pub napi: NapiState,
}

impl Host {
    /// A note on a host that receives inline although threaded NAPI was requested.
    pub fn inline_note(&self) -> Option<String> {
        let NapiState::Inline { reason } = &self.napi else {
            return None;
        };
        let (name, reason) = (&self.name, reason.as_ref()?);
        Some(format!(
            "{name}: threaded NAPI was requested, but it receives inline: {reason}"
        ))
    }
}

/// The place where the receive work of a device is done, as read back from the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum NapiState {
    Threaded {
        /// Their process ids, as the machine's first PID namespace numbers them; empty when the
        /// kernel does not list them (before Linux 6.8).
        thread_pids: Vec<u32>,
        /// Why their CPUs and the device's interrupt moderation cannot be set; `None` where they
        /// can.
        unplaced: Option<String>,
    },
    /// In the system call of the sender.
    Inline {
        /// The reason why it is not threaded; `None` when threads were not requested.
        reason: Option<String>,
    },
}
