//! Named hosts: how agents are started there, and which path the data takes.
//!
//! | file | it is |
//! |---|---|
//! | named | which hosts play the endpoints, and how they are reached |
//! | connect | the command that starts an agent there, and what its exit status means |
//! | bootstrap | how this program is copied to a host that lacks it |
//! | route | which addresses and interfaces the data takes |
//! | slurm | the nodes of a Slurm allocation, and the step that starts an agent at one |
//! | kubernetes | the nodes of a Kubernetes cluster, and the pods that bear agents there |
//! | resolve | the addresses of a host name |
//! | foreign | names that came from a cluster or an allocation |

mod bootstrap;
mod connect;
mod foreign;
mod iperf3;
pub mod kubernetes;
mod named;
mod resolve;
mod route;
pub mod slurm;

pub use named::{Host, Named, parse_program};
pub use resolve::addresses;
