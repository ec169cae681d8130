//! The traffic engine: one file and one row per workload, over one sending and one receiving loop.
//!
//! A loop makes one system call per message and nothing else: no clock read, no readiness call, no
//! allocation. It counts in memory that only it writes and another thread reads. [`Control`]
//! signals when the measured window starts and ends, and when to stop.

mod accept;
mod binding;
mod buffer_ring;
mod congestion;
mod connections;
mod control;
mod datagrams;
mod delay_variation;
mod establish;
mod flow;
mod handshake;
pub mod iperf3;
mod latency;
mod loops;
mod low_water;
mod modes;
mod options;
mod pacing;
mod pending_requests;
pub mod ping;
mod schedule;
mod sequence;
mod syscalls;
mod tcp;
mod tcp_connect;
mod tcp_crr;
mod tcp_rr;
mod tcp_stream;
mod transactions;
mod udp;
mod udp_rr;
mod udp_stream;
mod work;
mod workload;

pub use control::{Control, Phase};
pub use establish::Pending;
pub use flow::{Flow, Outcome, Ready, Sent, TrafficError};
pub use handshake::{TOKEN_BYTES, Token, is_greeting};
pub use options::tcp_info;
pub use sequence::{Arrival, Tag, Tracker};

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::record::Role;

use workload::WorkloadRow;

/// The table of the workloads.
fn row(workload: Workload) -> &'static WorkloadRow {
    match workload {
        Workload::TcpStream => &tcp_stream::WORKLOAD,
        Workload::UdpStream => &udp_stream::WORKLOAD,
        Workload::TcpRr => &tcp_rr::WORKLOAD,
        Workload::UdpRr => &udp_rr::WORKLOAD,
        Workload::TcpCrr => &tcp_crr::WORKLOAD,
        Workload::TcpConnect => &tcp_connect::WORKLOAD,
    }
}

/// Opens the receiver's socket on `address`; the port is the first of those that the run asks for,
/// or the kernel's choice.
///
/// # Errors
/// The operation on the socket and the kernel's answer.
pub fn listen(
    conditions: &Conditions,
    address: IpAddr,
    token: Token,
) -> Result<Pending, TrafficError> {
    Pending::listen(row(conditions.workload), conditions, address, token)
}

/// Connects the sender to the receiver and sends the run's token. A receiver of datagrams answers
/// with it before this returns; one of TCP sends nothing back.
///
/// # Errors
/// The operation on the socket and the answer of the kernel or the peer.
pub fn connect(
    conditions: &Conditions,
    peer: SocketAddr,
    token: Token,
    patience: Duration,
) -> Result<Ready, TrafficError> {
    establish::connect(row(conditions.workload), conditions, peer, &token, patience)
}

/// Connects an endpoint of either role to an iperf3 server: the server waits for a connection for
/// each flow, and takes those of which it receives first.
///
/// # Errors
/// As [`connect`].
pub fn join_iperf3(
    conditions: &Conditions,
    role: Role,
    peer: SocketAddr,
    token: Token,
    patience: Duration,
) -> Result<Ready, TrafficError> {
    establish::join_iperf3(conditions, role, peer, &token, patience)
}
