//! The connection of the two endpoints of a flow, and the facts about its socket that every flow
//! reports.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::protocol::Peer;
use bitcost_model::record::{FlowRecord, Role, SocketSizes};

use crate::control::Control;
use crate::flow::{Flow, Ready, Sent, TrafficError};
use crate::handshake::Token;
use crate::workload::{Endpoints, Run, TcpServer, UdpServer};
use crate::{binding, endpoints, iperf3, options, tcp, tcp_stream, udp, udp_stream};

pub struct Pending {
    listening: Listening,
    address: SocketAddr,
    conditions: Conditions,
    token: Token,
    only: Option<IpAddr>,
}

enum Listening {
    Tcp(TcpListener, TcpServer),
    Udp(UdpSocket, UdpServer),
}

/// Opens the receiver's socket on `address`; the port is the first of those that the run asks
/// for, or the kernel's choice.
pub fn listen(
    conditions: &Conditions,
    address: IpAddr,
    token: Token,
) -> Result<Pending, TrafficError> {
    let (listening, address) = match endpoints(conditions.workload) {
        Endpoints::Tcp { server, .. } => {
            let (listener, address) = tcp::bind(conditions, address)?;
            (Listening::Tcp(listener, server), address)
        }
        Endpoints::Udp { server, .. } => {
            let (socket, address) = udp::bind(conditions, address)?;
            (Listening::Udp(socket, server), address)
        }
    };
    Ok(Pending {
        listening,
        address,
        conditions: conditions.clone(),
        token,
        only: None,
    })
}

impl Pending {
    /// The same receiver, which takes its sender from this address alone, where there is one: a
    /// connection of another is closed, a datagram of another not answered.
    #[must_use]
    pub fn only_from(self, only: Option<IpAddr>) -> Pending {
        Pending { only, ..self }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn accept(self, patience: Duration) -> Result<Ready, TrafficError> {
        let Pending {
            listening,
            address,
            conditions,
            token,
            only,
        } = self;
        let run = Run {
            conditions: &conditions,
            token: &token,
            peer: Peer::Bitcost,
        };
        let ready = match listening {
            Listening::Tcp(listener, server) => {
                let stream = tcp::accept_sender(&listener, address, &token, only, patience)?;
                server(&run, stream, listener)?
            }
            Listening::Udp(socket, server) => {
                udp::await_sender((&socket, &conditions), address, &token, only, patience)?;
                server(&run, socket)?
            }
        };
        with_socket_facts(ready, &conditions, Role::Receiver)
    }
}

/// Connects the sender to the receiver and sends the run's token. A receiver of datagrams answers
/// with it before this returns; one of TCP sends nothing back.
pub fn connect(
    conditions: &Conditions,
    peer: SocketAddr,
    token: Token,
    patience: Duration,
) -> Result<Ready, TrafficError> {
    let run = Run {
        conditions,
        token: &token,
        peer: Peer::Bitcost,
    };
    let ready = match endpoints(conditions.workload) {
        Endpoints::Tcp { client, .. } => {
            let stream = tcp::connect(conditions, peer, &token, patience)?;
            client(&run, stream, peer)?
        }
        Endpoints::Udp { client, .. } => {
            let socket = udp::connect(conditions, peer, &token, patience)?;
            client(&run, socket, peer)?
        }
    };
    with_socket_facts(ready, conditions, Role::Sender)
}

/// Connects an endpoint of either role to an iperf3 server: the server waits for a connection for
/// each flow, and takes those of which it receives first.
pub fn join_iperf3(
    conditions: &Conditions,
    role: Role,
    peer: SocketAddr,
    token: Token,
    patience: Duration,
) -> Result<Ready, TrafficError> {
    // The address and ports of this host are those of its role.
    let conditions = match role {
        Role::Sender => conditions,
        Role::Receiver => &Conditions {
            places: conditions.places.turned(),
            ..conditions.clone()
        },
    };
    let run = Run {
        conditions,
        token: &token,
        peer: Peer::Iperf3,
    };
    let ready = match conditions.workload {
        Workload::TcpStream => {
            let stream = tcp::connect(conditions, peer, &iperf3::cookie(&token), patience)?;
            match role {
                Role::Sender => tcp_stream::client(&run, stream, peer)?,
                Role::Receiver => tcp_stream::receiver(&run, stream)?,
            }
        }
        Workload::UdpStream => {
            let socket = udp::join_iperf3(conditions, peer, patience)?;
            match role {
                Role::Sender => udp_stream::client(&run, socket, peer)?,
                Role::Receiver => udp_stream::server(&run, socket)?,
            }
        }
        other => {
            let name = other.info().short_name;
            return Err(TrafficError::Peer(format!("iperf3 has no {name}")));
        }
    };
    with_socket_facts(ready, conditions, Role::Sender)
}

/// Adds the local side of the socket, and its sizes before and after the traffic.
fn with_socket_facts(
    mut ready: Ready,
    conditions: &Conditions,
    role: Role,
) -> Result<Ready, TrafficError> {
    let socket = ready
        .flow
        .handle()
        .map_err(TrafficError::system("duplicate the socket"))?;
    ready
        .in_effect
        .extend(binding::in_effect(&socket, conditions, role));
    let at_start = options::sizes(&socket);
    let flow = ready.flow;
    Ok(Ready {
        flow: Box::new(SizedFlow { flow, at_start }),
        ..ready
    })
}

/// A flow that reports the sizes of its socket before and after its traffic.
struct SizedFlow {
    flow: Box<dyn Flow>,
    at_start: SocketSizes,
}

impl Flow for SizedFlow {
    fn handle(&self) -> io::Result<OwnedFd> {
        self.flow.handle()
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        self.flow.run(control)
    }

    fn keeps_new_files(&self) -> bool {
        self.flow.keeps_new_files()
    }

    fn outcome(&self, sent: Sent) -> FlowRecord {
        FlowRecord {
            at_start: self.at_start,
            at_end: self.handle().map(options::sizes).unwrap_or_default(),
            ..self.flow.outcome(sent)
        }
    }
}
