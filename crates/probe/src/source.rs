//! The common parts of all probes: their target, when they are read, and where their counters go.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;

use bitcost_model::record::{Sample, ThreadKind};
use bitcost_sys::namespace::inside;

use crate::softirq_timer::SoftirqTimer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    Reading,
    /// At the window's start and at its end, after the others.
    Edge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Only sums, whose size does not grow with the number of flows.
    Sums,
    /// Also each thread and each socket.
    Flows,
}

/// One source of counters, open: reads them as they are now, and leaves absent what cannot be read. It changes nothing but
/// its own fields of the sample.
pub type Source = Box<dyn FnMut(&mut Sample, Detail)>;

pub(crate) fn source(read: impl FnMut(&mut Sample, Detail) + 'static) -> Option<Source> {
    Some(Box::new(read))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    pub kind: ThreadKind,
    pub part: usize,
    /// Its thread id, or its process id if it is a kernel thread.
    pub id: u32,
    /// The process that it belongs to, where that is not this one.
    pub process: Option<u32>,
}

#[derive(Debug)]
pub struct Socket {
    pub handle: OwnedFd,
    /// Whether it is the flow's one TCP connection.
    pub is_connection: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub name: String,
    /// A file that refers to its network namespace.
    pub namespace: PathBuf,
}

/// The path between the endpoints, as far as this host can read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Between {
    pub nodes: Vec<Node>,
    /// The file with the counters of its link emulators; absent if there are none.
    pub emulators: Option<PathBuf>,
    /// The file with the state of the running lab in one of whose nodes this is; absent outside of one.
    pub lab: Option<PathBuf>,
}

impl Between {
    /// The processes in whose folders of `/proc` these files are: the daemon of a lab.
    pub fn lab_daemons(&self) -> Vec<u32> {
        let nodes = self.nodes.iter().map(|node| &node.namespace);
        let daemon = |path: &PathBuf| {
            let pid = path.strip_prefix("/proc").ok()?.iter().next()?;
            pid.to_str()?.parse().ok()
        };
        let mut daemons: Vec<u32> = nodes
            .chain(&self.emulators)
            .chain(&self.lab)
            .filter_map(daemon)
            .collect();
        daemons.dedup();
        daemons
    }
}

pub struct Target {
    pub device: String,
    pub threads: Vec<Thread>,
    pub sockets: Rc<[Vec<Socket>]>,
    /// The path between the endpoints, as far as this host can read it.
    pub between: Between,
    /// What times soft interrupts; absent where they are not timed.
    pub softirqs: Option<Rc<SoftirqTimer>>,
    /// The process whose control groups are read; absent: this one.
    pub process: Option<u32>,
}

/// Something opened in this namespace, and in that of each node on the path, which has a name.
pub(crate) type Hop<T> = (Option<String>, T);

/// Opens something in this namespace, for which it is given the endpoint's interface, and in those of the nodes on the path, to
/// which it then belongs: a file of `/proc/thread-self/net`, or a socket. Absent if it can be had nowhere.
pub(crate) fn hops<T: Send>(
    target: &Target,
    open: impl Fn(Option<&str>) -> Option<T> + Sync,
) -> Option<Vec<Hop<T>>> {
    let own = open(Some(&target.device)).map(|opened| (None, opened));
    let between = target.between.nodes.iter().filter_map(|node| {
        let namespace = File::open(&node.namespace).ok()?;
        let opened = inside(namespace.as_fd(), || open(None)).ok()??;
        Some((Some(node.name.clone()), opened))
    });
    let hops: Vec<_> = own.into_iter().chain(between).collect();
    (!hops.is_empty()).then_some(hops)
}
