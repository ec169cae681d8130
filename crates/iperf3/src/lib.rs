//! iperf3's protocol, for tests with stock iperf3 at the other end.
//!
//! The protocol itself is pure: [`server::cookie_of`] (what a connection begins with), [`params`],
//! [`results`] and [`udp::answer`] read what comes from the network, without sockets or clocks.
//! [`server`] serves stock clients, several at once; [`client`] plays an endpoint of a run by what it
//! agrees with a stock server.
//!
//! Source: iperf3's `iperf_api.h`, `iperf_api.c`, `iperf_tcp.c` and `iperf_udp.c`, versions 3.12 and
//! 3.21.

pub mod client;
mod control;
pub mod limits;
mod line;
mod options;
pub mod params;
pub mod protocol;
mod registry;
pub mod results;
pub mod server;
mod session;
mod streams;
pub mod udp;
