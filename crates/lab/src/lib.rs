//! Emulated networks: nodes as network namespaces, built from a topology, which end with the
//! process that made them.
//!
//! | file | it is |
//! |---|---|
//! | controller | [`Lab`]: starts the daemon, starts programs in hosts, takes the lab down |
//! | daemon | the process that holds the namespaces: the hidden command `lab-daemon` |
//! | protocol | the requests and answers between these two |
//! | build | makes the namespaces, links and addresses |
//! | carrier | waits until every device passes packets |
//! | node | what each kind of node is made of: bridges, forwarding, routes |
//! | shape | the kernel's queues and shapers |
//! | emulated_links | links that a link emulator forwards |
//! | emulator | the link emulator |
//! | napi | moves a device's receive work into a kernel thread |
//! | cable | nodes of kind `wire`: the hardware part of the network cards |
//! | processes | the PID namespace of a lab's processes: the hidden command `lab-processes` |
//! | registry | the running labs, by name |
//! | entry | entering a lab that another process holds |
//! | names | the nodes' names in `/etc/hosts` |
//! | state | what a running lab does now, and what was changed |
//! | memory_file | a file that other processes read while it is written |
//! | inside | the lab in one of whose nodes this process is |
//! | drawing | a lab drawn as text |
//! | diagnose | why namespaces are impossible here, and what to do |
//!
//! [`bitcost_model::topology`] describes what a lab consists of.

mod build;
mod cable;
mod carrier;
mod controller;
pub mod daemon;
mod diagnose;
mod drawing;
mod emulated_links;
pub mod emulator;
mod entry;
mod error;
pub mod inside;
mod memory_file;
mod names;
mod napi;
mod node;
pub mod processes;
pub mod protocol;
pub mod registry;
mod shape;
pub mod state;

pub use bitcost_model::topology::{Address, End, Link, Napi, Node, NodeKind, Topology};
pub use controller::{DAEMON_VERB, Lab};
pub use drawing::draw;
pub use error::LabError;
pub use inside::Inside;
pub use protocol::{Host, NapiState};
