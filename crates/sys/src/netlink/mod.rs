//! Blocking netlink requests: links and their limits for super-packets, addresses, routes, qdiscs,
//! ethtool features and tuning, NAPI instances, TCP metrics, sockets.
//!
//! Each method sends one request and waits for its whole answer. The types are those of the kernel.
//! A connection stays in the network namespace in which it was opened.

#![forbid(unsafe_code)]

pub mod answer;
mod connection;
mod error;
mod ethtool;
mod generic;
mod message;
mod netdev;
mod qdisc;
mod records;
mod route;
mod rtnl;
mod sock_diag;
mod tcp_metrics;
mod tuning;

pub use error::Error;
pub use ethtool::{Ethtool, Feature, Features};
pub use netdev::{Napi, napis};
pub use qdisc::{
    Discipline, Parameters, Qdisc, ROOT, Requested, Statistics, agrees, discipline,
    usual_burst_bytes,
};
pub use records::{AddressRecord, RouteRecord};
pub use route::Route;
pub use rtnl::{Link, Rtnl, VethPair, devices};
pub use sock_diag::{SockDiag, SocketRecord};
pub use tcp_metrics::{cached_metrics, forget_metrics};
pub use tuning::{CHANNELS, COALESCE, Group as TuningGroup, RINGS};
