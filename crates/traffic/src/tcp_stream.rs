//! `tcp_stream`: one TCP connection, one send call per message.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use model::conditions::{Conditions, TCP_TIMESTAMPS};
use model::record::{InForce, Role};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socket_with, sockopt};
use sys::socket::{self, SO_RCVLOWAT, TCP_MAXSEG};

use crate::calls::Calls;
use crate::congestion;
use crate::control::{Control, Phase};
use crate::entrance::{BACKLOG, accept_with_token};
use crate::flow::{Flow, Outcome, Pending, Ready, Sent, TrafficError};
use crate::handshake::{TOKEN_BYTES, Token, is_timeout, time_left};
use crate::latency::{Recorder, timed};
use crate::lengths::Lengths;
use crate::local;
use crate::loops::receive_flags;
use crate::low_water::LowWater;
use crate::modes;
use crate::options::{self, tcp_info};
use crate::pacing::{self, Pacer};
use crate::ring::Ring;
use crate::shared;

struct Waiting {
    listener: TcpListener,
    address: SocketAddr,
    conditions: Conditions,
    token: Token,
}

/// Opens the receiver's socket.
pub fn listen(conditions: &Conditions, address: IpAddr, token: Token) -> Result<Box<dyn Pending>, TrafficError> {
    let (listener, address) = bind(conditions, address)?;
    Ok(Box::new(Waiting { listener, address, conditions: conditions.clone(), token }))
}

/// A listening socket with the run's options, and its address.
pub fn bind(conditions: &Conditions, address: IpAddr) -> Result<(TcpListener, SocketAddr), TrafficError> {
    let asked = format!("listen on TCP {address}");
    let address = local::receiver_address(address, conditions);
    let socket = open(&address, conditions)?;
    local::bind_receiver(&socket, address, conditions)?;
    rustix::net::listen(&socket, BACKLOG).map_err(TrafficError::errno(asked))?;
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().map_err(TrafficError::system("the TCP socket's own address"))?;
    Ok((listener, address))
}

/// A socket with the options that must stand before the connection is made.
pub fn open(address: &SocketAddr, conditions: &Conditions) -> Result<OwnedFd, TrafficError> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .map_err(|error| TrafficError::system("open a TCP socket")(error.into()))?;
    options::set(&socket, conditions, true)?;
    if let Some(name) = &conditions.congestion_control {
        congestion::set(&socket, name)?;
    }
    Ok(socket)
}

/// Connects the sender and exchanges tokens.
pub fn connect(
    conditions: &Conditions,
    peer: SocketAddr,
    token: Token,
    patience: Duration,
) -> Result<Ready, TrafficError> {
    let stream = meet(conditions, peer, token, patience)?;
    let mut in_force = in_force(&stream, conditions, true);
    in_force.extend(pacing::by_kernel(&stream, conditions)?);
    modes::ready(Role::Sender, conditions, &token, stream, in_force, |stream| {
        if conditions.shares_threads() {
            return Box::new(shared::TcpSender::new(stream, conditions));
        }
        let ring = Ring::of_sender(conditions.message_size_bytes, conditions.buffers);
        let (lengths, times) = (Lengths::of(conditions, &token), recorder(conditions));
        Box::new(Sender { stream, ring, lengths, pacer: Pacer::of(conditions), times })
    })
}

/// The segment size to announce in the kernel's terms, where the run asks for one.
pub fn segment_option(conditions: &Conditions) -> Option<i32> {
    // The option counts the timestamps, which take their room from the user's data.
    conditions.segment_bytes().map(|bytes| (bytes + if timestamps_in_use() { TCP_TIMESTAMPS } else { 0 }) as i32)
}

/// A connection to the receiver that has shown the run's token.
pub fn meet(
    conditions: &Conditions,
    peer: SocketAddr,
    token: Token,
    patience: Duration,
) -> Result<TcpStream, TrafficError> {
    let deadline = Instant::now() + patience;
    let socket = open(&peer, conditions)?;
    local::bind_sender(&socket, peer, conditions)?;
    if let Some(bytes) = segment_option(conditions) {
        socket::set_int(&socket, TCP_MAXSEG, bytes)
            .map_err(TrafficError::system(format!("TCP_MAXSEG of {bytes} bytes")))?;
    }
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(patience))
        .map_err(|error| TrafficError::system("SO_SNDTIMEO")(error.into()))?;
    rustix::net::connect(&socket, &local::target(peer, conditions))
        .map_err(|error| connect_error(&format!("connect to TCP {peer} within {patience:?}"), error))?;
    let mut stream = TcpStream::from(socket);
    exchange_tokens(&mut stream, &token, deadline).map_err(|error| {
        TrafficError::Peer(format!("the TCP receiver at {peer} did not answer with the run's token: {error}"))
    })?;
    Ok(stream)
}

/// Why a connection could not be made.
pub fn connect_error(asked: &str, error: Errno) -> TrafficError {
    let hint = match error {
        Errno::ADDRNOTAVAIL => {
            "; every local port towards it is taken or in TIME_WAIT: widen net.ipv4.ip_local_port_range or set net.ipv4.tcp_tw_reuse to 1 on the sender's host"
        }
        _ => "",
    };
    TrafficError::System { asked: asked.to_owned(), error: error.into(), hint: hint.to_owned() }
}

fn timestamps_in_use() -> bool {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_timestamps").map_or(true, |text| text.trim() != "0")
}

fn exchange_tokens(stream: &mut TcpStream, token: &Token, deadline: Instant) -> io::Result<()> {
    stream.write_all(token)?;
    let mut answer = [0; TOKEN_BYTES];
    stream.set_read_timeout(Some(time_left(deadline)?))?;
    stream.read_exact(&mut answer)?;
    stream.set_write_timeout(None)?;
    if answer == *token { Ok(()) } else { Err(io::Error::other("another token")) }
}

/// What the connection really has.
pub fn in_force(stream: &TcpStream, conditions: &Conditions, sender: bool) -> Vec<InForce> {
    let mut settings = options::in_force(stream, conditions, true);
    settings.push(InForce {
        name: "congestion_control".into(),
        asked: conditions.congestion_control.clone(),
        actual: socket::congestion_control(stream).ok(),
    });
    if !sender {
        settings.push(InForce {
            name: "receive_low_water_bytes".into(),
            asked: conditions.receive_low_water_bytes.map(|bytes| bytes.to_string()),
            actual: socket::get_int(stream, SO_RCVLOWAT).ok().map(|bytes| bytes.to_string()),
        });
    }
    if sender {
        let actual = tcp_info(stream).and_then(|info| info.snd_mss_bytes);
        settings.push(InForce {
            name: "mss_bytes".into(),
            asked: conditions.segment_bytes().map(|bytes| bytes.to_string()),
            actual: actual.map(|bytes| bytes.to_string()),
        });
    }
    settings
}

impl Pending for Waiting {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn accept(self: Box<Self>, patience: Duration) -> Result<Ready, TrafficError> {
        let Waiting { listener, address, conditions, token } = *self;
        let stream = accept_sender(&conditions, &listener, address, &token, patience)?;
        if let Some(bytes) = conditions.receive_low_water_bytes {
            socket::set_int(&stream, SO_RCVLOWAT, i32::try_from(bytes).unwrap_or(i32::MAX))
                .map_err(TrafficError::system(format!("SO_RCVLOWAT of {bytes} bytes")))?;
        }
        let in_force = in_force(&stream, &conditions, false);
        modes::ready(Role::Receiver, &conditions, &token, stream, in_force, |stream| {
            if conditions.shares_threads() {
                return Box::new(shared::TcpReceiver::new(stream, &conditions));
            }
            Box::new(Receiver {
                low_water: LowWater::of(&conditions, &stream),
                stream,
                ring: Ring::of_receiver(conditions.receive_bytes(), conditions.buffers),
                flags: receive_flags(&conditions),
                delay: Duration::from_micros(conditions.receiver_delay_us.into()),
            })
        })
    }
}

/// The connection of the first who shows the run's token, with the options that it does not take from its listener.
pub fn accept_sender(
    conditions: &Conditions,
    listener: &TcpListener,
    address: SocketAddr,
    token: &Token,
    patience: Duration,
) -> Result<TcpStream, TrafficError> {
    let stream = accept_with_token(listener, token, patience).map_err(|error| {
        TrafficError::Peer(format!("no sender showed the run's token at {address} within {patience:?}: {error}"))
    })?;
    options::set_accepted(&stream, conditions.priority)?;
    Ok(stream)
}

struct Sender {
    stream: TcpStream,
    ring: Ring,
    lengths: Lengths,
    pacer: Option<Pacer>,
    times: Option<Recorder>,
}

/// The recorder of a run that asks for times.
pub fn recorder(conditions: &Conditions) -> Option<Recorder> {
    if conditions.latency { Recorder::new() } else { None }
}

/// Sends messages until the amount is sent or the window is over.
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
    times: &mut Option<Recorder>,
) -> Result<(), Errno> {
    let mut hold = || {
        if let Some(pacer) = pacer {
            pacer.wait(control);
        }
    };
    let call = |bytes: &[u8]| calls.send(bytes, SendFlags::NOSIGNAL);
    if let Some(message) = ring.only() {
        let send_one = |phase: Phase, length: usize| {
            hold();
            timed(times, phase, || call(&message[..length]))
        };
        return lengths.send(control, send_one, |done, length| call(&message[done..length]));
    }
    let ring = RefCell::new(ring);
    let send_one = |phase: Phase, length: usize| {
        hold();
        let mut ring = ring.borrow_mut();
        let message = ring.next(length);
        timed(times, phase, || call(&message[..length]))
    };
    lengths.send(control, send_one, |done, length| call(&ring.borrow().present()[done..length]))
}

/// Receives until the sender has ended the connection, or the run is stopped. `took` hears the phase of each call
/// that brought data.
///
/// # Errors
/// What the calls answer.
#[inline]
pub fn receive_all(
    calls: &impl Calls,
    control: &Control,
    ring: &mut Ring,
    flags: RecvFlags,
    delay: Duration,
    mut took: impl FnMut(Phase),
) -> Result<(), Errno> {
    while control.phase() != Phase::Abort {
        match calls.receive(ring.next(0), flags) {
            Ok(0) => break,
            Ok(length) => {
                let phase = control.phase();
                control.count_call(phase, length);
                took(phase);
            }
            Err(Errno::AGAIN) => {
                control.count_empty();
                continue;
            }
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error),
        }
        if !delay.is_zero() {
            control.sleep(delay);
        }
    }
    Ok(())
}

impl Flow for Sender {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.stream.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let Sender { stream, ring, lengths, pacer, times } = self;
        let asked = || format!("send messages of up to {} bytes", lengths.longest());
        send_all(stream, control, ring, lengths, pacer, times).map_err(|error| TrafficError::errno(asked())(error))?;
        if control.phase() == Phase::Abort {
            return Ok(());
        }
        end_in_good_order(stream).map_err(TrafficError::system("end the connection"))
    }

    fn outcome(&self, _sent: Sent) -> Outcome {
        let pacing = self.pacer.as_ref().map(Pacer::record);
        let latency = self.times.as_ref().map(Recorder::latency);
        Outcome { tcp_info: tcp_info(&self.stream), pacing, latency, ..Outcome::default() }
    }
}

/// How long a receiver may take for what is still under way when the sender ends.
pub const TAKING: Duration = Duration::from_secs(5);

/// Says that nothing more comes and waits until the receiver has taken everything and says the same.
pub fn end_in_good_order(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(TAKING))?;
    match stream.read(&mut [0; 1]) {
        Err(error) if is_timeout(&error) => {
            Err(io::Error::other(format!("the receiver did not take everything within {TAKING:?}")))
        }
        answer => answer.map(|_| ()),
    }
}

struct Receiver {
    stream: TcpStream,
    ring: Ring,
    flags: RecvFlags,
    delay: Duration,
    low_water: LowWater,
}

impl Flow for Receiver {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.stream.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        self.low_water.begin();
        let Receiver { stream, ring, flags, delay, low_water } = self;
        let settle = |phase| {
            if low_water.is_due(phase) {
                low_water.settle(&*stream, control);
            }
        };
        receive_all(&*stream, control, ring, *flags, *delay, settle).map_err(TrafficError::errno("receive"))?;
        self.stream.shutdown(Shutdown::Write).map_err(TrafficError::system("end the connection"))
    }

    fn outcome(&self, _sent: Sent) -> Outcome {
        let low_water_bytes = self.low_water.in_force();
        Outcome { tcp_info: tcp_info(&self.stream), low_water_bytes, ..Outcome::default() }
    }
}
