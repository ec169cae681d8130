//! Emulated networks: nodes as network namespaces, built from a topology, which end with the
//! process that made them.
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
