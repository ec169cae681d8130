//! `udp_stream`: one UDP flow, one datagram per send call.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::conditions::Conditions;
use model::record::Role;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

use crate::control::{Control, Phase};
use crate::flow::{Flow, Outcome, Pending, Ready, Sent, TrafficError};
use crate::handshake::{Token, answer_udp, greet_udp};
use crate::intake::{Intake, QUIET};
use crate::local;
use crate::loops::{Amount, receive_flags, send_messages};
use crate::modes;
use crate::options;
use crate::pacing::{self, Pacer};
use crate::sequence::{HEADER_BYTES, header};

struct Waiting {
    socket: UdpSocket,
    address: SocketAddr,
    conditions: Conditions,
    token: Token,
}

/// Opens the receiver's socket.
pub fn listen(conditions: &Conditions, address: IpAddr, token: Token) -> Result<Box<dyn Pending>, TrafficError> {
    let socket = bind(conditions, address)?;
    let address = socket.local_addr().map_err(TrafficError::system("the UDP socket's own address"))?;
    Ok(Box::new(Waiting { socket, address, conditions: conditions.clone(), token }))
}

/// A receiver's socket with the run's options.
pub fn bind(conditions: &Conditions, address: IpAddr) -> Result<UdpSocket, TrafficError> {
    let address = local::receiver_address(address, conditions);
    let socket = open(&address, conditions)?;
    local::bind_receiver(&socket, address, conditions)?;
    Ok(socket.into())
}

/// A socket with the run's options.
fn open(address: &SocketAddr, conditions: &Conditions) -> Result<OwnedFd, TrafficError> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .map_err(TrafficError::errno("open a UDP socket"))?;
    options::set(&socket, conditions, false)?;
    Ok(socket)
}

/// Opens the sender's socket and greets the receiver.
pub fn connect(
    conditions: &Conditions,
    peer: SocketAddr,
    token: Token,
    patience: Duration,
) -> Result<Ready, TrafficError> {
    let socket = meet(conditions, peer, token, patience)?;
    let mut in_force = options::in_force(&socket, conditions, false);
    in_force.extend(pacing::by_kernel(&socket, conditions)?);
    let message = vec![0x5A; conditions.message_size_bytes as usize];
    modes::ready(Role::Sender, conditions, socket, in_force, |socket| {
        Box::new(Sender { socket, message, amount: Amount::of(conditions), pacer: Pacer::of(conditions) })
    })
}

/// A socket that is connected to the receiver, which has shown the run's token.
pub fn meet(
    conditions: &Conditions,
    peer: SocketAddr,
    token: Token,
    patience: Duration,
) -> Result<UdpSocket, TrafficError> {
    let socket = open(&peer, conditions)?;
    local::bind_sender(&socket, peer, conditions)?;
    rustix::net::connect(&socket, &local::target(peer, conditions))
        .map_err(TrafficError::errno(format!("connect a UDP socket to {peer}")))?;
    let socket = UdpSocket::from(socket);
    greet_udp(&socket, &token, patience).map_err(|error| {
        TrafficError::Peer(format!("the UDP receiver at {peer} did not answer with the run's token within {patience:?}: {error}; see that nothing filters UDP between the hosts"))
    })?;
    Ok(socket)
}

impl Pending for Waiting {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn accept(self: Box<Self>, patience: Duration) -> Result<Ready, TrafficError> {
        let Waiting { socket, address, conditions, token } = *self;
        await_sender(&socket, address, &token, patience)?;
        let in_force = options::in_force(&socket, &conditions, false);
        modes::ready(Role::Receiver, &conditions, socket, in_force, |socket| {
            Box::new(Receiver {
                socket,
                buffer: vec![0; conditions.receive_bytes() as usize],
                flags: receive_flags(&conditions),
                intake: Intake::of(&conditions),
            })
        })
    }
}

/// Connects the socket to the first who shows the run's token; its receive calls come back each [`QUIET`].
pub fn await_sender(
    socket: &UdpSocket,
    address: SocketAddr,
    token: &Token,
    patience: Duration,
) -> Result<(), TrafficError> {
    answer_udp(socket, token, patience).map_err(|error| {
        TrafficError::Peer(format!("no sender showed the run's token at {address} within {patience:?}: {error}"))
    })?;
    socket.set_read_timeout(Some(QUIET)).map_err(TrafficError::system("SO_RCVTIMEO"))
}

struct Sender {
    socket: UdpSocket,
    message: Vec<u8>,
    amount: Amount,
    pacer: Option<Pacer>,
}

impl Flow for Sender {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.socket.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let Sender { socket, message, amount, pacer } = self;
        let size = message.len();
        let mut number = 0;
        let send_one = |phase: Phase, length: usize| {
            if let Some(pacer) = pacer {
                pacer.wait(control);
            }
            if let Some(front) = message.first_chunk_mut::<HEADER_BYTES>() {
                *front = header(phase, number);
            }
            let sent = send(&*socket, &message[..length], SendFlags::empty())?;
            number += 1;
            Ok(sent)
        };
        let cut = |_, _| Err(Errno::MSGSIZE);
        send_messages(control, size, *amount, send_one, cut)
            .map_err(|error| TrafficError::system(format!("send a datagram of {size} bytes"))(error.into()))
    }

    fn outcome(&self, _sent: Sent) -> Outcome {
        Outcome { pacing: self.pacer.as_ref().map(Pacer::record), ..Outcome::default() }
    }
}

struct Receiver {
    socket: UdpSocket,
    buffer: Vec<u8>,
    flags: RecvFlags,
    intake: Intake,
}

impl Flow for Receiver {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.socket.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let Receiver { socket, buffer, flags, intake } = self;
        let receive_one = |intake: &mut Intake| {
            let (length, _) = recv(&*socket, &mut buffer[..], *flags)?;
            intake.take(control, &buffer[..length]);
            Ok(())
        };
        intake.receive(control, receive_one).map_err(|error| TrafficError::system("receive a datagram")(error.into()))
    }

    fn outcome(&self, sent: Sent) -> Outcome {
        Outcome { sequence: self.intake.sequence(sent), ..Outcome::default() }
    }
}
