//! What the controller and the holder say to each other: one request, one answer, a JSON line each.

use std::io::{self, Read};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use model::shaping::QueueLimit;
use model::topology::Topology;

use crate::LabError;

/// The controller's request.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// The process that the holder must not outlive.
    pub controller_pid: u32,
    /// What to build.
    pub topology: Topology,
    /// Whether others than the controller will start programs in it.
    pub has_visitors: bool,
}

/// What the controller asks of a lab that stands.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Give every queue that delays this limit, or its own again.
    LimitQueues(Option<QueueLimit>),
}

/// The holder's answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The lab stands.
    Ready(Ready),
    /// The order was obeyed.
    Done,
    /// It could not be built, or the order not obeyed.
    Failed(LabError),
}

/// A lab that stands.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ready {
    /// Whether a user namespace owns the hosts; otherwise the controller's own does.
    pub user_namespace: bool,
    /// The hosts, in the order of the topology.
    pub hosts: Vec<Host>,
    /// Every node, in the order of the topology: its name, and the number of the holder's file descriptor that refers to its
    /// network namespace.
    pub nodes: Vec<(String, i32)>,
    /// The number of the holder's file descriptor of the file with the delay lines' counters; `None` without lines.
    pub lines_fd: Option<i32>,
    /// The first process of the visitors' PID namespace; `None` where there are to be none.
    pub programs_pid: Option<u32>,
    /// What the kernel does not have of the links, a sentence each.
    pub notes: Vec<String>,
}

/// A host of a lab that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name, such as "h1".
    pub name: String,
    /// Its first device that has an address.
    pub device: String,
    /// Its first address.
    pub address: IpAddr,
    /// The addresses of that device, one of IPv6 only where the kernel has it.
    pub addresses: Vec<IpAddr>,
    /// The MTU of that device, in bytes, read back.
    pub mtu_bytes: u32,
    /// The number of the holder's file descriptor that refers to its network namespace.
    pub netns_fd: i32,
    /// Where the receive work of that device is done.
    pub napi: NapiState,
}

/// Where the receive work of a device is done, as read back from the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum NapiState {
    /// In kernel threads of the device.
    Threaded {
        /// Their process ids, as the machine's first PID namespace numbers them; empty when the
        /// kernel does not list them (before Linux 6.8).
        thread_pids: Vec<u32>,
    },
    /// In the system call of whoever sends.
    Inline {
        /// Why not threaded; `None` when threads were not asked for.
        reason: Option<String>,
    },
}

/// Reads a line from `file`, waiting at most `limit` for all of it.
///
/// Errors: `TimedOut`, and `UnexpectedEof` when the writer is gone before the line's end.
pub(crate) fn read_line(file: &mut (impl Read + AsFd), limit: Duration) -> io::Result<String> {
    let deadline = Instant::now() + limit;
    let mut line = Vec::new();
    let mut chunk = [0; 4096];
    while !line.ends_with(b"\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if !sys::process::wait_readable(&*file, left)? {
            continue;
        }
        match file.read(&mut chunk)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => line.extend_from_slice(&chunk[..length]),
        }
    }
    String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into())
}
