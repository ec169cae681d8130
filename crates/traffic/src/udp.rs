//! UDP sockets of every workload, with the run's options, connected to the endpoint that knows the
//! run's token.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use bitcost_model::conditions::Conditions;

use crate::binding;
use crate::datagrams::{QUIET, quiet};
use crate::flow::TrafficError;
use crate::handshake::{Came, Token, answer_udp, greet_udp};
use crate::iperf3;
use crate::tcp::no_sender;

/// A socket that is connected to the receiver, which has shown the run's token.
pub fn connect(
    conditions: &Conditions,
    peer: SocketAddr,
    token: &Token,
    patience: Duration,
) -> Result<UdpSocket, TrafficError> {
    let socket = connected(conditions, peer)?;
    greet_udp(&socket, token, patience).map_err(|error| {
        TrafficError::Peer(format!("the UDP receiver at {peer} did not answer with the run's token within {patience:?}: {error}; see that nothing filters UDP between the hosts"))
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

/// A socket that is connected to an iperf3 server, which has answered; receive calls time out after
/// [`QUIET`].
pub fn join_iperf3(
    conditions: &Conditions,
    peer: SocketAddr,
    patience: Duration,
) -> Result<UdpSocket, TrafficError> {
    let socket = connected(conditions, peer)?;
    iperf3::greet(&socket, patience).map_err(|error| {
        TrafficError::Peer(format!("the iperf3 server at UDP {peer} did not answer within {patience:?}: {error}; iperf3's greeting is sent only once: repeat the test where packets may be lost, and see that nothing filters UDP between the hosts"))
    })?;
    socket
        .set_read_timeout(Some(QUIET))
        .map_err(TrafficError::system("SO_RCVTIMEO"))?;
    Ok(socket)
}

/// Connects the socket to the first endpoint that sends the run's token and can be reached, at the
/// address `only` where there is one; receive calls time out
/// after [`quiet`].
pub fn await_sender(
    (socket, conditions): (&UdpSocket, &Conditions),
    address: SocketAddr,
    token: &Token,
    only: Option<IpAddr>,
    patience: Duration,
) -> Result<(), TrafficError> {
    let mut came = Came::default();
    answer_udp(socket, token, only, patience, &mut came)
        .map_err(|error| no_sender(address, only, patience, came, &error))?;
    socket
        .set_read_timeout(Some(quiet(conditions)))
        .map_err(TrafficError::system("SO_RCVTIMEO"))
}
