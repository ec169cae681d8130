//! The description of one workload: its endpoints.

use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};

use bitcost_model::conditions::Conditions;
use bitcost_model::protocol::Peer;

use crate::flow::{Ready, TrafficError};
use crate::handshake::Token;

/// Functions that make the flow of an endpoint from a socket whose two sides have exchanged the
/// run's token. A client is given the address that it was connected to, a TCP server its listening
/// socket. A new workload is a file with these, and its line in the table of all.
#[derive(Clone, Copy)]
pub enum Endpoints {
    /// Over TCP connections.
    Tcp {
        /// The side that connects: the sender.
        client: TcpClient,
        /// The side that listens: the receiver.
        server: TcpServer,
    },
    /// Over connected UDP sockets.
    Udp {
        /// The side that connects: the sender.
        client: UdpClient,
        /// The side that listens: the receiver.
        server: UdpServer,
    },
}

/// The facts about their run that both endpoints of a flow know.
pub struct Run<'a> {
    /// The settings.
    pub conditions: &'a Conditions,
    /// The token.
    pub token: &'a Token,
    /// What plays the other endpoint.
    pub peer: Peer,
}

/// Makes a client over TCP.
pub type TcpClient = fn(&Run, TcpStream, SocketAddr) -> Result<Ready, TrafficError>;
/// Makes a server over TCP.
pub type TcpServer = fn(&Run, TcpStream, TcpListener) -> Result<Ready, TrafficError>;
/// Makes a client over UDP.
pub type UdpClient = fn(&Run, UdpSocket, SocketAddr) -> Result<Ready, TrafficError>;
/// Makes a server over UDP.
pub type UdpServer = fn(&Run, UdpSocket) -> Result<Ready, TrafficError>;
