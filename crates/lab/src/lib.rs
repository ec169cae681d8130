//! Emulated networks: hosts as network namespaces, from a description, gone with their process.
//!
//! | file | it is |
//! |---|---|
//! | topology | the description: nodes and links |
//! | controller | [`Lab`]: starts the holder, puts programs into hosts, takes the lab down |
//! | holder | the process that holds the namespaces: the hidden verb `lab-holder` |
//! | protocol | the one request and the one answer between these two |
//! | build | makes the namespaces, links and addresses |
//! | napi | moves a device's receive work into a kernel thread of its own |
//! | wire | the part of the network cards that is hardware |
//! | diagnose | why namespaces are impossible here, and what to do |

mod build;
mod controller;
pub mod diagnose;
mod error;
pub mod holder;
mod napi;
mod protocol;
mod topology;
mod wire;

pub use controller::{HOLDER_VERB, Lab};
pub use error::LabError;
pub use protocol::{Host, NapiState};
pub use topology::{Address, End, Link, Napi, Node, NodeKind, Topology};
