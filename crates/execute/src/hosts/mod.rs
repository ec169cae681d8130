//! Named hosts: how agents are started there, and which path the data takes.

mod bootstrap;
mod connect;
mod foreign;
pub mod kubernetes;
mod named;
mod resolve;
mod route;
pub mod slurm;

pub use named::{Host, Named, parse_program};
