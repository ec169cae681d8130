//! What all probes have in common: what they look at, when they are read, and where their counters go.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use model::record::{Sample, TcpInfo, ThreadKind};

/// When a probe is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// At each reading.
    Reading,
    /// At the window's begin and at its end, after the others.
    Edge,
}

/// How much a reading is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What does not grow with the number of flows.
    Sums,
    /// Each thread and each socket, too.
    Flows,
}

/// One source of counters, open. A reading changes nothing but its own fields of the sample.
pub trait Source {
    /// Reads the counters as they are now; leaves absent what cannot be read.
    fn read(&mut self, sample: &mut Sample, detail: Detail);
}

/// A thread whose time is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// What it is for.
    pub kind: ThreadKind,
    /// The part of the run that it belongs to.
    pub part: usize,
    /// Its number in this process, or its process id where it is the kernel's.
    pub id: u32,
}

/// The socket of a flow.
#[derive(Debug)]
pub struct Socket {
    /// A handle of it.
    pub handle: OwnedFd,
    /// Whether it is the flow's one TCP connection.
    pub is_connection: bool,
}

/// A network namespace on the path between the ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// A file that refers to its network namespace.
    pub namespace: PathBuf,
}

/// What lies between the ends and can be seen from here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Between {
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// The file into which the counters of its delay lines are written; absent where it has none.
    pub lines: Option<PathBuf>,
}

/// What the probes of a run look at.
pub struct Target {
    /// The interface towards the other end.
    pub device: String,
    /// Threads of this process and of the kernel.
    pub threads: Vec<Thread>,
    /// Of each part of the run, of each flow.
    pub sockets: Rc<[Vec<Socket>]>,
    /// How `TCP_INFO` of a socket is put into the words of the record.
    pub tcp_info: fn(&OwnedFd) -> Option<TcpInfo>,
    /// What lies between the ends and can be seen from here.
    pub between: Between,
}

/// Opens something in another network namespace, which it then belongs to: a file of `/proc/thread-self/net`, or a socket.
/// Absent where the namespace cannot be entered.
pub(crate) fn inside<T: Send>(namespace: &Path, open: impl FnOnce() -> Option<T> + Send) -> Option<T> {
    let namespace = std::fs::File::open(namespace).ok()?;
    let enter = || {
        sys::namespace::enter(namespace.as_fd(), sys::namespace::Kind::Net).ok()?;
        open()
    };
    std::thread::scope(|scope| scope.spawn(enter).join().ok().flatten())
}
