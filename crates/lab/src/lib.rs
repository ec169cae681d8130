//! Emulated networks: nodes as network namespaces, from a description, gone with their process.
//!
//! | file | it is |
//! |---|---|
//! | controller | [`Lab`]: starts the holder, puts programs into hosts, takes the lab down |
//! | holder | the process that holds the namespaces: the hidden verb `lab-holder` |
//! | protocol | the one request and the one answer between these two |
//! | build | makes the namespaces, links and addresses |
//! | carrier | waits until every device passes packets |
//! | node | what each kind of node is made of: bridges, forwarding, routes |
//! | shape | the kernel's queues and shapers |
//! | lines | links that a delay line carries |
//! | napi | moves a device's receive work into a kernel thread of its own |
//! | wire | the part of the network cards that is hardware |
//! | programs | the PID namespace of a lab's visitors: the hidden verb `lab-programs` |
//! | registry | the labs that stand, by name |
//! | visit | the way into a lab that another process holds |
//! | drawing | a lab in lines of text |
//! | diagnose | why namespaces are impossible here, and what to do |
//!
//! What a lab is made of is described by [`model::topology`].

mod build;
mod carrier;
mod controller;
pub mod diagnose;
mod drawing;
mod error;
pub mod holder;
mod lines;
mod napi;
mod node;
pub mod programs;
pub mod protocol;
pub mod registry;
mod shape;
mod visit;
mod wire;

pub use controller::{HOLDER_VERB, Lab};
pub use drawing::draw;
pub use error::LabError;
pub use model::topology::{Address, End, Link, Napi, Node, NodeKind, Topology};
pub use protocol::{Host, NapiState};
pub use visit::Door;
