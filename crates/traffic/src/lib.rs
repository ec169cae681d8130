//! The traffic engine: one file and one row per workload, over one sending and one receiving loop.
//!
//! A loop makes one system call per message and nothing else: no clock read, no readiness call, no
//! allocation. It counts in memory that only it writes and another thread reads. [`Control`]
//! signals when the measured window starts and ends, and when to stop.

mod accept;
mod binding;
mod congestion;
mod connections;
mod control;
mod datagrams;
mod delay_variation;
mod establish;
mod firewall;
mod flow;
mod handshake;
pub mod iperf3;
mod latency;
mod loops;
mod low_water;
mod message_buffer;
mod modes;
mod options;
mod pacing;
mod schedule;
mod sequence;
mod syscalls;
mod tcp;
mod tcp_rr;
mod tcp_stream;
mod transactions;
mod udp;
mod udp_rr;
mod udp_stream;
mod work;
mod workload;

use bitcost_model::workload::Workload;
use workload::Endpoints;

pub use control::{Control, Phase};
pub use establish::{End, Listening, connect, listen, of_iperf3};
pub use flow::{Flow, Ready, Traffic, TrafficError};
pub use handshake::{FlowId, TOKEN_BYTES, Token, is_greeting, opening};
pub use options::tcp_info;
pub use pacing::{narrow_hop, path_mtu_bytes};
pub use sequence::{Arrival, Tag, Tracker};
pub use tcp::DRAIN_TIMEOUT;

fn endpoints(workload: Workload) -> Endpoints {
    match workload {
        Workload::TcpStream => tcp_stream::WORKLOAD,
        Workload::UdpStream => udp_stream::WORKLOAD,
        Workload::TcpRr => tcp_rr::WORKLOAD,
        Workload::UdpRr => udp_rr::WORKLOAD,
        Workload::TcpCrr | Workload::TcpConnect => connections::WORKLOAD,
    }
}
