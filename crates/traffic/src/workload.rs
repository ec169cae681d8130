//! The description of one workload: its endpoints.

use std::net::{TcpListener, TcpStream, UdpSocket};

use bitcost_model::conditions::Conditions;
use bitcost_model::protocol::Peer;

use crate::flow::{Made, TrafficError};
use crate::handshake::Token;

/// Functions that make the flow of an endpoint from a socket whose two sides have exchanged the
/// run's token. A client sends; a TCP server is given its listening socket where its workload makes more connections and it is
/// the end that listens. A new workload is a file with these, and its line in the table of all.
#[derive(Clone, Copy)]
pub enum Endpoints {
    Tcp {
        client: TcpClient,
        server: TcpServer,
    },
    Udp {
        client: UdpEnd,
        server: UdpEnd,
    },
}

/// The facts about their run that both endpoints of a flow know.
pub struct Run<'a> {
    pub conditions: &'a Conditions,
    pub token: &'a Token,
    pub peer: Peer,
    /// Whether datagrams of iperf3 have numbers of 64 bits.
    pub is_wide: bool,
}

pub type TcpClient = fn(&Run, TcpStream) -> Result<Made, TrafficError>;
pub type TcpServer = fn(&Run, TcpStream, Option<TcpListener>) -> Result<Made, TrafficError>;
pub type UdpEnd = fn(&Run, UdpSocket) -> Result<Made, TrafficError>;
