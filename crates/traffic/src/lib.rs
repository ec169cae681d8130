//! The traffic engine: one file per workload over one sending and one receiving loop.
//!
//! The loops make one system call per message and nothing else: no clock read, no readiness call, no
//! allocation. They count in memory of their own, which another thread reads. When to begin, when the
//! measured window starts and when to stop is told through [`Control`].

mod aside;
mod calls;
mod congestion;
mod connections;
mod control;
mod delay;
mod entrance;
mod flow;
mod handshake;
mod intake;
mod latency;
mod lengths;
mod local;
mod loops;
mod low_water;
mod modes;
mod options;
mod pacing;
pub mod ping;
mod ring;
mod schedule;
mod self_cost;
mod sequence;
mod shared;
mod tcp_connect;
mod tcp_crr;
mod tcp_rr;
mod tcp_stream;
mod transactions;
mod udp_rr;
mod udp_stream;

pub use control::{Control, Phase};
pub use flow::{Flow, Outcome, Pending, Ready, Sent, TrafficError};
pub use handshake::{TOKEN_BYTES, Token};
pub use options::tcp_info;
pub use self_cost::self_cost;
pub use shared::{Shared, Together};

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::conditions::{Conditions, Workload};
use model::record::{Role, SocketSizes};

/// One workload: how its receiver waits for the sender and how its sender reaches the receiver.
struct Row {
    workload: Workload,
    listen: Listen,
    connect: Connect,
}

type Listen = fn(&Conditions, IpAddr, Token) -> Result<Box<dyn Pending>, TrafficError>;
type Connect = fn(&Conditions, SocketAddr, Token, Duration) -> Result<Ready, TrafficError>;

const WORKLOADS: &[Row] = &[
    Row { workload: Workload::TcpStream, listen: tcp_stream::listen, connect: tcp_stream::connect },
    Row { workload: Workload::UdpStream, listen: udp_stream::listen, connect: udp_stream::connect },
    Row { workload: Workload::TcpRr, listen: tcp_rr::listen, connect: tcp_rr::connect },
    Row { workload: Workload::UdpRr, listen: udp_rr::listen, connect: udp_rr::connect },
    Row { workload: Workload::TcpCrr, listen: tcp_crr::listen, connect: tcp_crr::connect },
    Row { workload: Workload::TcpConnect, listen: tcp_connect::listen, connect: tcp_connect::connect },
];

fn row(workload: Workload) -> Result<&'static Row, TrafficError> {
    WORKLOADS.iter().find(|row| row.workload == workload).ok_or(TrafficError::NoSuchWorkload(workload.name()))
}

/// Opens the receiver's socket on `address`; the port is the first of those that the run asks for, or the
/// kernel's choice.
///
/// # Errors
/// What was asked of the socket and what the kernel answered.
pub fn listen(conditions: &Conditions, address: IpAddr, token: Token) -> Result<Box<dyn Pending>, TrafficError> {
    let pending = (row(conditions.workload)?.listen)(conditions, address, token)?;
    Ok(Box::new(Placed { pending, conditions: conditions.clone() }))
}

/// Connects the sender to the receiver, and returns when the receiver has shown the run's token.
///
/// # Errors
/// What was asked of the socket and what the kernel or the peer answered.
pub fn connect(
    conditions: &Conditions,
    peer: SocketAddr,
    token: Token,
    patience: Duration,
) -> Result<Ready, TrafficError> {
    placed((row(conditions.workload)?.connect)(conditions, peer, token, patience)?, conditions, Role::Sender)
}

/// A receiver that tells where it stands once its sender has come.
struct Placed {
    pending: Box<dyn Pending>,
    conditions: Conditions,
}

impl Pending for Placed {
    fn address(&self) -> SocketAddr {
        self.pending.address()
    }

    fn accept(self: Box<Self>, patience: Duration) -> Result<Ready, TrafficError> {
        placed(self.pending.accept(patience)?, &self.conditions, Role::Receiver)
    }
}

/// The end with its place among its settings.
fn placed(mut ready: Ready, conditions: &Conditions, role: Role) -> Result<Ready, TrafficError> {
    let socket = ready.flow.handle().map_err(TrafficError::system("keep a handle of the socket"))?;
    ready.in_force.extend(local::in_force(&socket, conditions, role));
    let at_begin = options::sizes(&socket);
    let flow = ready.flow;
    Ok(Ready { flow: Box::new(Known { flow, at_begin }), ..ready })
}

/// A flow that tells what its socket's sizes were before it and after it.
struct Known {
    flow: Box<dyn Flow>,
    at_begin: SocketSizes,
}

impl Flow for Known {
    fn handle(&self) -> io::Result<OwnedFd> {
        self.flow.handle()
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        self.flow.run(control)
    }

    fn keeps_new_files(&self) -> bool {
        self.flow.keeps_new_files()
    }

    fn as_shared(&mut self) -> Option<&mut dyn Shared> {
        self.flow.as_shared()
    }

    fn outcome(&self, sent: Sent) -> Outcome {
        let at_end = self.handle().map(options::sizes).unwrap_or_default();
        Outcome { at_begin: self.at_begin, at_end, ..self.flow.outcome(sent) }
    }
}
