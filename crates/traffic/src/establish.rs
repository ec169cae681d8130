//! The connection of the two endpoints of a flow, and the facts about its socket that every flow
//! reports.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::protocol::Peer;
use bitcost_model::record::{FlowRecord, Role, SocketSizes};

use crate::accept::BACKLOG;
use crate::control::Control;
use crate::flow::{Flow, Made, Ready, Sent, Traffic, TrafficError};
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
    let (socket, own) = binding::receiver(address, conditions)?;
    let listening = match endpoints(conditions.workload) {
        Endpoints::Tcp { server, .. } => {
            let asked = format!("listen on TCP {address}");
            rustix::net::listen(&socket, BACKLOG).map_err(TrafficError::errno(asked))?;
            Listening::Tcp(socket.into(), server)
        }
        Endpoints::Udp { server, .. } => Listening::Udp(socket.into(), server),
    };
    Ok(Pending {
        listening,
        address: own,
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
        let (socket, made) = match listening {
            Listening::Tcp(listener, server) => {
                let stream =
                    tcp::accept_sender(&listener, &conditions, address, &token, only, patience)?;
                // Shutting it down ends the wait for a connection.
                let socket = match conditions.workload.makes_connections() {
                    true => second(&listener)?,
                    false => second(&stream)?,
                };
                (socket, server(&run, stream, listener)?)
            }
            Listening::Udp(socket, server) => {
                udp::await_sender((&socket, &conditions), address, &token, only, patience)?;
                (second(&socket)?, server(&run, socket)?)
            }
        };
        Ok(ready(socket, made, &conditions, Role::Receiver))
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
    let (socket, made) = match endpoints(conditions.workload) {
        Endpoints::Tcp { client, .. } => {
            let stream = tcp::connect(conditions, peer, &token, patience)?;
            (second(&stream)?, client(&run, stream, peer)?)
        }
        Endpoints::Udp { client, .. } => {
            let socket = udp::connect(conditions, peer, &token, patience)?;
            (second(&socket)?, client(&run, socket, peer)?)
        }
    };
    Ok(ready(socket, made, conditions, Role::Sender))
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
    let (socket, made) = match conditions.workload {
        Workload::TcpStream => {
            let stream = tcp::connect(conditions, peer, &iperf3::cookie(&token), patience)?;
            let made = match role {
                Role::Sender => tcp_stream::client,
                Role::Receiver => tcp_stream::receiver,
            };
            (second(&stream)?, made(&run, stream)?)
        }
        Workload::UdpStream => {
            let socket = udp::join_iperf3(conditions, peer, patience)?;
            let made = match role {
                Role::Sender => udp_stream::client,
                Role::Receiver => udp_stream::server,
            };
            (second(&socket)?, made(&run, socket)?)
        }
        other => {
            let name = other.info().short_name;
            return Err(TrafficError::Peer(format!("iperf3 has no {name}")));
        }
    };
    Ok(ready(socket, made, conditions, Role::Sender))
}

fn second(socket: impl AsFd) -> Result<OwnedFd, TrafficError> {
    let second = socket.as_fd().try_clone_to_owned();
    second.map_err(TrafficError::system("duplicate the socket"))
}

/// Adds the local side of the socket, and its sizes before and after the traffic.
fn ready(socket: OwnedFd, made: Made, conditions: &Conditions, role: Role) -> Ready {
    let mut in_effect = made.in_effect;
    in_effect.extend(binding::in_effect(&socket, conditions, role));
    Ready {
        in_effect,
        flow: Box::new(Established {
            traffic: made.traffic,
            is_connection: conditions.workload.keeps_connection(),
            at_start: options::sizes(&socket),
            socket,
        }),
    }
}

/// A flow that reports the facts of its socket.
struct Established {
    traffic: Box<dyn Traffic>,
    socket: OwnedFd,
    is_connection: bool,
    at_start: SocketSizes,
}

impl Flow for Established {
    fn handle(&self) -> io::Result<OwnedFd> {
        self.socket.try_clone()
    }
}

impl Traffic for Established {
    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        self.traffic.run(control)
    }

    fn keeps_new_files(&self) -> bool {
        self.traffic.keeps_new_files()
    }

    fn outcome(&self, sent: Sent) -> FlowRecord {
        let connection = self.is_connection.then_some(&self.socket);
        FlowRecord {
            tcp_info: connection.and_then(options::tcp_info),
            at_start: self.at_start,
            at_end: options::sizes(&self.socket),
            ..self.traffic.outcome(sent)
        }
    }
}
