//! `udp_stream`: one UDP flow, one datagram per send call.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::conditions::Conditions;
use model::record::{InForce, Role};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socket_with};
use sys::datagram::Wait;
use sys::socket::{self, SO_TIMESTAMPNS};
use sys::stamped::receive_stamped;

use crate::calls::Calls;
use crate::control::{Control, Phase};
use crate::delay::{self, Delays};
use crate::flow::{Flow, Outcome, Pending, Ready, Sent, TrafficError};
use crate::handshake::{Token, answer_udp, greet_udp};
use crate::intake::{Intake, QUIET};
use crate::latency::{Recorder, timed};
use crate::lengths::Lengths;
use crate::local;
use crate::loops::receive_flags;
use crate::modes;
use crate::options;
use crate::pacing::{self, Pacer};
use crate::ring::Ring;
use crate::sequence::Tag;
use crate::shared;
use crate::tcp_stream::recorder;

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
    in_force.extend(conditions.delay_variation.then(|| stamped("true")));
    let tag = Tag::of(&token);
    modes::ready(Role::Sender, conditions, &token, socket, in_force, |socket| {
        if conditions.shares_threads() {
            return Box::new(shared::UdpSender::new(socket, conditions, tag));
        }
        Box::new(Sender {
            socket,
            ring: Ring::of_sender(conditions.message_size_bytes, conditions.buffers),
            lengths: Lengths::of(conditions, &token),
            pacer: Pacer::of(conditions),
            extras: Extras { tag, stamps: conditions.delay_variation, times: recorder(conditions) },
        })
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
        let mut in_force = options::in_force(&socket, &conditions, false);
        if conditions.delay_variation {
            in_force.push(ask_for_timestamps(&socket)?);
        }
        let tag = Tag::of(&token);
        modes::ready(Role::Receiver, &conditions, &token, socket, in_force, |socket| {
            if conditions.shares_threads() {
                return Box::new(shared::UdpReceiver::new(socket, &conditions, tag));
            }
            Box::new(Receiver {
                delays: if conditions.delay_variation { Delays::new(tag) } else { None },
                socket,
                ring: Ring::of_receiver(conditions.receive_bytes(), conditions.buffers),
                flags: receive_flags(&conditions),
                intake: Intake::of(&conditions, tag),
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

/// The setting as it is in force.
fn stamped(actual: &str) -> InForce {
    InForce { name: "delay_variation".into(), asked: Some("true".into()), actual: Some(actual.into()) }
}

/// Asks for the time at which the kernel takes each datagram, and reads back whether it will say so.
fn ask_for_timestamps(socket: &UdpSocket) -> Result<InForce, TrafficError> {
    socket::set_int(socket, SO_TIMESTAMPNS, 1).map_err(TrafficError::system("SO_TIMESTAMPNS"))?;
    let is_on = socket::get_int(socket, SO_TIMESTAMPNS).is_ok_and(|on| on != 0);
    Ok(stamped(if is_on { "true" } else { "false" }))
}

struct Sender {
    socket: UdpSocket,
    ring: Ring,
    lengths: Lengths,
    pacer: Option<Pacer>,
    extras: Extras,
}

/// What a sender does beside sending.
pub struct Extras {
    /// What each message begins with.
    pub tag: Tag,
    /// Writes the time into each message, where the run asks for it.
    pub stamps: bool,
    /// Records how long each send call takes, where the run asks for it.
    pub times: Option<Recorder>,
}

/// Sends messages, each with its number, until the amount is sent or the window is over.
///
/// # Errors
/// What the calls answer.
#[inline]
pub fn send_all(
    calls: &impl Calls,
    control: &Control,
    ring: &mut Ring,
    lengths: &Lengths,
    pacer: &mut Option<Pacer>,
    extras: &mut Extras,
) -> Result<(), Errno> {
    let mut number = 0;
    let send_one = |phase: Phase, length: usize| {
        if let Some(pacer) = pacer {
            pacer.wait(control);
        }
        let message = ring.next(length);
        extras.tag.write(message, phase, number);
        if extras.stamps {
            delay::stamp(message);
        }
        let sent = timed(&mut extras.times, phase, || calls.send(&message[..length], SendFlags::empty()))?;
        number += 1;
        Ok(sent)
    };
    let cut = |_, _| Err(Errno::MSGSIZE);
    lengths.send(control, send_one, cut)
}

/// Receives datagrams until everything is there, or nothing comes any more.
///
/// # Errors
/// What the calls answer.
#[inline]
pub fn receive_all(
    calls: &impl Calls,
    control: &Control,
    ring: &mut Ring,
    flags: RecvFlags,
    intake: &mut Intake,
) -> Result<(), Errno> {
    intake.receive(control, |intake: &mut Intake| {
        let buffer = ring.next(0);
        let length = calls.receive(buffer, flags)?;
        intake.take(control, &buffer[..length]);
        Ok(())
    })
}

/// As [`receive_all`], and takes note of when each datagram came.
fn receive_stamped_all(
    socket: &UdpSocket,
    control: &Control,
    ring: &mut Ring,
    flags: RecvFlags,
    intake: &mut Intake,
    delays: &mut Delays,
) -> Result<(), Errno> {
    let wait = if flags.contains(RecvFlags::DONTWAIT) { Wait::Never } else { Wait::Sleep };
    intake.receive(control, |intake: &mut Intake| {
        let buffer = ring.next(0);
        let found = receive_stamped(socket, buffer, wait).map_err(modes::errno)?;
        let datagram = &buffer[..found.bytes.min(buffer.len())];
        intake.take(control, datagram);
        if let Some(at_ns) = found.at_ns {
            delays.note(datagram, at_ns);
        }
        Ok(())
    })
}

impl Flow for Sender {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.socket.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let Sender { socket, ring, lengths, pacer, extras } = self;
        let asked = || format!("send datagrams of up to {} bytes", lengths.longest());
        send_all(socket, control, ring, lengths, pacer, extras).map_err(|error| TrafficError::errno(asked())(error))
    }

    fn outcome(&self, _sent: Sent) -> Outcome {
        let latency = self.extras.times.as_ref().map(Recorder::latency);
        Outcome { pacing: self.pacer.as_ref().map(Pacer::record), latency, ..Outcome::default() }
    }
}

struct Receiver {
    socket: UdpSocket,
    ring: Ring,
    flags: RecvFlags,
    intake: Intake,
    delays: Option<Delays>,
}

impl Flow for Receiver {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.socket.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let Receiver { socket, ring, flags, intake, delays } = self;
        let received = match delays {
            None => receive_all(socket, control, ring, *flags, intake),
            Some(delays) => receive_stamped_all(socket, control, ring, *flags, intake, delays),
        };
        received.map_err(TrafficError::errno("receive a datagram"))
    }

    fn outcome(&self, sent: Sent) -> Outcome {
        let delay_variation = self.delays.as_ref().map(Delays::variation);
        Outcome { sequence: self.intake.sequence(sent), delay_variation, ..Outcome::default() }
    }
}
