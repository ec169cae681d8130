//! `udp_stream`: one UDP flow, one datagram per send call.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use model::conditions::Conditions;
use model::record::Sequence;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::control::{Control, Phase};
use crate::flow::{Flow, Outcome, Pending, Ready, Sent, TrafficError};
use crate::handshake::{Token, answer_udp, greet_udp};
use crate::loops::{Amount, receive_flags, send_messages};
use crate::options;
use crate::sequence::{Arrival, HEADER_BYTES, Tracker, header, parse};

/// A receiver looks this often whether the flow is over while nothing comes.
pub const QUIET: Duration = Duration::from_millis(100);

struct Waiting {
    socket: UdpSocket,
    address: SocketAddr,
    conditions: Conditions,
    token: Token,
}

/// Opens the receiver's socket.
pub fn listen(conditions: &Conditions, address: IpAddr, token: Token) -> Result<Box<dyn Pending>, TrafficError> {
    let socket = bind(conditions, SocketAddr::new(address, 0))?;
    let address = socket.local_addr().map_err(TrafficError::system("the UDP socket's own address"))?;
    Ok(Box::new(Waiting { socket, address, conditions: conditions.clone(), token }))
}

pub fn bind(conditions: &Conditions, address: SocketAddr) -> Result<UdpSocket, TrafficError> {
    let socket = UdpSocket::bind(address).map_err(TrafficError::system(format!("bind a UDP socket to {address}")))?;
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
    let any: IpAddr = if peer.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    let socket = bind(conditions, SocketAddr::new(any, 0))?;
    socket.connect(peer).map_err(TrafficError::system(format!("connect a UDP socket to {peer}")))?;
    greet_udp(&socket, &token, patience).map_err(|error| {
        TrafficError::Peer(format!("the UDP receiver at {peer} did not answer with the run's token within {patience:?}: {error}; see that nothing filters UDP between the hosts"))
    })?;
    let in_force = options::in_force(&socket, conditions, false);
    let message = vec![0x5A; conditions.message_size_bytes as usize];
    Ok(Ready { in_force, flow: Box::new(Sender { socket, message, amount: Amount::of(conditions) }) })
}

impl Pending for Waiting {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn accept(self: Box<Self>, patience: Duration) -> Result<Ready, TrafficError> {
        let Waiting { socket, address, conditions, token } = *self;
        answer_udp(&socket, &token, patience).map_err(|error| {
            TrafficError::Peer(format!("no sender showed the run's token at {address} within {patience:?}: {error}"))
        })?;
        socket.set_read_timeout(Some(QUIET)).map_err(TrafficError::system("SO_RCVTIMEO"))?;
        let in_force = options::in_force(&socket, &conditions, false);
        let receiver = Receiver {
            socket,
            buffer: vec![0; conditions.receive_bytes() as usize],
            numbered: conditions.message_size_bytes as usize >= HEADER_BYTES,
            flags: receive_flags(&conditions),
            delay: Duration::from_micros(conditions.receiver_delay_us.into()),
            tracker: Tracker::default(),
            unique: [0; 2],
        };
        Ok(Ready { in_force, flow: Box::new(receiver) })
    }
}

struct Sender {
    socket: UdpSocket,
    message: Vec<u8>,
    amount: Amount,
}

impl Flow for Sender {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.socket.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let Sender { socket, message, amount } = self;
        let size = message.len();
        let mut number = 0;
        let send_one = |phase: Phase, length: usize| {
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
        Outcome::default()
    }
}

struct Receiver {
    socket: UdpSocket,
    buffer: Vec<u8>,
    /// True where messages have room for a sequence number.
    numbered: bool,
    flags: RecvFlags,
    delay: Duration,
    tracker: Tracker,
    /// Different datagrams of the warm-up and of the measured window.
    unique: [u64; 2],
}

impl Receiver {
    /// Counts a datagram; what is neither numbered nor expected to be is left out.
    #[inline]
    fn take(&mut self, control: &Control, length: usize) {
        if !self.numbered {
            control.count_message(control.phase(), length);
            self.unique[0] += 1;
            return;
        }
        let Some((phase, number)) = parse(&self.buffer[..length]) else { return };
        if self.tracker.note(number) != Arrival::Repeated {
            control.count_message(phase, length);
            self.unique[usize::from(phase == Phase::Measured)] += 1;
        }
    }

    fn total(&self) -> u64 {
        self.unique[0] + self.unique[1]
    }
}

impl Flow for Receiver {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.socket.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let mut quiet_since = None;
        while control.phase() != Phase::Abort {
            match recv(&self.socket, &mut self.buffer[..], self.flags) {
                Ok((length, _)) => {
                    quiet_since = None;
                    self.take(control, length);
                    if control.expected_messages().is_some_and(|sent| self.total() >= sent) {
                        return Ok(());
                    }
                    if !self.delay.is_zero() {
                        std::thread::sleep(self.delay);
                    }
                }
                Err(Errno::AGAIN) if control.expected_messages().is_some() => {
                    if quiet_since.get_or_insert_with(Instant::now).elapsed() >= QUIET {
                        return Ok(());
                    }
                }
                Err(Errno::AGAIN | Errno::INTR | Errno::CONNREFUSED) => {}
                Err(error) => return Err(TrafficError::system("receive a datagram")(error.into())),
            }
        }
        Ok(())
    }

    fn outcome(&self, sent: Sent) -> Outcome {
        let sequence = self.numbered.then(|| Sequence {
            measured_sent: sent.measured,
            measured_lost: sent.measured.saturating_sub(self.unique[1]),
            total_lost: sent.total.saturating_sub(self.total()),
            reordered: self.tracker.reordered,
            duplicated: self.tracker.duplicated,
        });
        Outcome { sequence, ..Outcome::default() }
    }
}
