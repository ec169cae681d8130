//! The greeting with which the endpoint that opens a flow names it and shows the run's token, and over UDP the
//! proof that it can be reached at its address.
//!
//! Anybody can write another host's address into a datagram, and the client of a service chooses the
//! token itself. So a receiver answers the token with one datagram of the same length, which carries
//! a cookie for the address that it came from. Only an address that returns its cookie is connected
//! to, gets several answers, and any traffic (RFC 9000, section 8, has the same for QUIC).

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use bitcost_sys::socket::is_passing;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

pub const TOKEN_BYTES: usize = 16;

/// A random number that the controller draws for each run; only both endpoints know it.
pub type Token = [u8; TOKEN_BYTES];

/// Length of a greeting: a header, and the token or the cookie.
pub const GREETING_BYTES: usize = 8 + TOKEN_BYTES;

/// First byte of a greeting's header, instead of a message or of TLS.
pub const HELLO_MARK: u8 = 0xBF;

/// A flow of a run: the number of its part, and its own number in that part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowId {
    pub part: u8,
    pub flow: u16,
}

/// The second byte of a datagram that carries the token, and of one that carries a cookie.
const TOKEN: u8 = 0;
const COOKIE: u8 = 1;

/// Datagrams with which a receiver answers a cookie, because some may be lost. Of a path that loses
/// 30 % of them, all are lost in one of 1400 handshakes.
const ANSWERS: usize = 6;

/// The time in which the copies of an answer come after the first one.
const COPIES: Duration = Duration::from_millis(2);

/// The time after which a sender repeats what was not answered.
const REPEAT: Duration = Duration::from_millis(100);

pub type Greeting = [u8; GREETING_BYTES];

pub fn is_greeting(datagram: &[u8]) -> bool {
    matches!(datagram, [HELLO_MARK, TOKEN | COOKIE, _, _, _, 0, 0, 0, ..])
}

/// What the endpoint that opens a flow sends first.
pub fn opening(id: FlowId, token: &Token) -> Greeting {
    greeting(TOKEN, id, token)
}

/// The flow that a greeting with this token opens; absent for anything else.
pub fn opened(greeting: &[u8], token: &Token) -> Option<FlowId> {
    let id = named(greeting)?;
    (greeting == opening(id, token)).then_some(id)
}

fn named(greeting: &[u8]) -> Option<FlowId> {
    let [_, _, part, high, low, ..] = *greeting else {
        return None;
    };
    let flow = u16::from_be_bytes([high, low]);
    Some(FlowId { part, flow })
}

fn greeting(kind: u8, id: FlowId, secret: &Token) -> Greeting {
    let mut datagram = [0; GREETING_BYTES];
    (datagram[0], datagram[1], datagram[2]) = (HELLO_MARK, kind, id.part);
    datagram[3..5].copy_from_slice(&id.flow.to_be_bytes());
    datagram[8..].copy_from_slice(secret);
    datagram
}

/// Makes the cookies of one receiver, which nobody can tell without a secret of this process.
#[derive(Default)]
pub struct Cookies(RandomState);

impl Cookies {
    fn of(&self, address: SocketAddr) -> Token {
        let half = |half: u8| self.0.hash_one((half, address)).to_be_bytes();
        let mut cookie = Token::default();
        cookie[..8].copy_from_slice(&half(0));
        cookie[8..].copy_from_slice(&half(1));
        cookie
    }
}

/// True where data may go to and come from this address.
pub fn is_allowed(address: IpAddr, only: Option<IpAddr>) -> bool {
    only.is_none_or(|only| only.to_canonical() == address.to_canonical())
}

/// What came to an endpoint to which the other has not shown the run's token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Came {
    pub from_peer: bool,
    /// From an address that is not allowed.
    pub from_others: bool,
}

impl Came {
    /// Notes that something came from this address; false where it may not.
    pub fn note(&mut self, address: IpAddr, only: Option<IpAddr>) -> bool {
        let is_allowed = is_allowed(address, only);
        self.from_peer |= is_allowed;
        self.from_others |= !is_allowed;
        is_allowed
    }
}

/// Waits for a token, which is answered with a cookie for the address that it came from, and then for that cookie: returns the
/// address, and the flow that it opens. Where `only` names an address, what comes from others is not answered.
pub fn await_cookie(
    socket: &UdpSocket,
    (token, cookies): (&Token, &Cookies),
    only: Option<IpAddr>,
    (deadline, came): (Instant, &mut Came),
) -> io::Result<(FlowId, SocketAddr)> {
    let mut datagram = [0; GREETING_BYTES + 1];
    loop {
        socket.set_read_timeout(Some(time_left(deadline)?))?;
        let (length, peer) = match socket.recv_from(&mut datagram) {
            Err(error) if is_passing(&error) => continue,
            received => received?,
        };
        if !came.note(peer.ip(), only) {
            continue;
        }
        let (datagram, cookie) = (&datagram[..length], cookies.of(peer));
        if let Some(id) = opened(datagram, token) {
            // A lost or refused one is asked for again.
            let _ = socket.send_to(&greeting(COOKIE, id, &cookie), peer);
        } else if let Some(id) = named(datagram)
            && *datagram == greeting(COOKIE, id, &cookie)
        {
            return Ok((id, peer));
        }
    }
}

/// Connects the socket to the address that returned its cookie, discards the datagrams that were received until then, and answers
/// with the token, several times. The other endpoint sends nothing else before that answer.
pub fn answer_udp(
    socket: &UdpSocket,
    peer: SocketAddr,
    (id, token): (FlowId, &Token),
    deadline: Instant,
) -> io::Result<()> {
    socket.connect(peer)?;
    drop_queued(socket, deadline)?;
    for _ in 0..ANSWERS {
        socket.send(&opening(id, token))?;
    }
    Ok(())
}

/// Discards the datagrams that are queued in the socket, from any address: connecting does not
/// discard them.
fn drop_queued(socket: &UdpSocket, deadline: Instant) -> io::Result<()> {
    loop {
        time_left(deadline)?;
        match recv(socket, &mut [0; 1][..], RecvFlags::DONTWAIT) {
            Ok(_) | Err(Errno::INTR | Errno::CONNREFUSED) => {}
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends the token, and then the cookie with which the other endpoint answers, until it has answered with the token.
pub fn greet_udp(socket: &UdpSocket, wanted: &Greeting, patience: Duration) -> io::Result<()> {
    let deadline = Instant::now() + patience;
    let wanted = *wanted;
    let mut said = wanted;
    let mut datagram = [0; GREETING_BYTES + 1];
    loop {
        let left = time_left(deadline)?;
        // A refused datagram means that the receiver is not listening yet.
        let _ = socket.send(&said);
        socket.set_read_timeout(Some(left.min(REPEAT)))?;
        match socket.recv(&mut datagram) {
            Ok(length) if datagram[..length] == wanted => {
                // The other answers, which would otherwise be the first datagrams of the traffic.
                std::thread::sleep(COPIES);
                return drop_queued(socket, deadline);
            }
            Ok(GREETING_BYTES) if datagram[..2] == [HELLO_MARK, COOKIE] => {
                said.copy_from_slice(&datagram[..GREETING_BYTES]);
            }
            Ok(_) => {}
            Err(error)
                if is_passing(&error) || error.kind() == io::ErrorKind::ConnectionRefused =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
}

pub fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        Err(io::ErrorKind::TimedOut.into())
    } else {
        Ok(left)
    }
}
