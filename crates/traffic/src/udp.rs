//! UDP sockets of every workload, with the run's options, connected to the endpoint that knows the
//! run's token.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use bitcost_model::conditions::Conditions;
use bitcost_model::firewall::to_open;

use crate::binding;
use crate::flow::TrafficError;
use crate::handshake::{Greeting, greet_udp};
use crate::iperf3;

/// A socket that is connected to the other endpoint, which has shown the run's token.
pub fn connect(
    conditions: &Conditions,
    peer: SocketAddr,
    opening: &Greeting,
    patience: Duration,
) -> Result<UdpSocket, TrafficError> {
    let socket = connected(conditions, peer)?;
    greet_udp(&socket, opening, patience).map_err(|error| {
        let (host, port) = (peer.ip(), peer.port());
        TrafficError::Unreached(format!(
            "the other endpoint at {host} UDP port {port} did not answer with the run's token within {patience:?}: {error}; open the port at that host (`-p {port}` keeps it for a test by ssh): {}",
            to_open("udp", port)
        ))
    })?;
    Ok(socket)
}

fn connected(conditions: &Conditions, peer: SocketAddr) -> Result<UdpSocket, TrafficError> {
    let socket = binding::sender(peer, conditions)?;
    rustix::net::connect(&socket, &peer).map_err(TrafficError::errno(format!(
        "connect a UDP socket to {peer}"
    )))?;
    Ok(UdpSocket::from(socket))
}

/// A socket that is connected to an iperf3 server, which has answered.
pub fn join_iperf3(
    conditions: &Conditions,
    peer: SocketAddr,
    patience: Duration,
) -> Result<UdpSocket, TrafficError> {
    let socket = connected(conditions, peer)?;
    iperf3::greet(&socket, patience).map_err(|error| {
        TrafficError::Peer(format!("the iperf3 server at UDP {peer} did not answer within {patience:?}: {error}; iperf3's greeting is sent only once: repeat the test where packets may be lost, and see that nothing filters UDP between the hosts"))
    })?;
    Ok(socket)
}
