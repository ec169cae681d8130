//! The token by which the two endpoints of a run authenticate each other, and over UDP the proof
//! that each can be reached at its address.
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

/// Length of a datagram of the handshake: a header, and the token or the cookie.
const GREETING_BYTES: usize = 8 + TOKEN_BYTES;

/// First byte of a header of the handshake instead of a message.
pub const HELLO_MARK: u8 = 0xBF;

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

type Greeting = [u8; GREETING_BYTES];

pub fn is_greeting(datagram: &[u8]) -> bool {
    matches!(datagram, [HELLO_MARK, TOKEN | COOKIE, rest @ ..] if rest.starts_with(&[0; 6]))
}

fn greeting(kind: u8, secret: &Token) -> Greeting {
    let mut datagram = [0; GREETING_BYTES];
    (datagram[0], datagram[1]) = (HELLO_MARK, kind);
    datagram[8..].copy_from_slice(secret);
    datagram
}

/// Makes the cookies of one receiver, which nobody can tell without a secret of this process.
struct Cookies(RandomState);

impl Cookies {
    fn of(&self, address: SocketAddr) -> Greeting {
        let half = |half: u8| self.0.hash_one((half, address)).to_be_bytes();
        let mut cookie = Token::default();
        cookie[..8].copy_from_slice(&half(0));
        cookie[8..].copy_from_slice(&half(1));
        greeting(COOKIE, &cookie)
    }
}

/// True where data may go to and come from this address.
pub fn is_allowed(address: IpAddr, only: Option<IpAddr>) -> bool {
    only.is_none_or(|only| only.to_canonical() == address.to_canonical())
}

/// What came to a receiver to which no sender has shown the run's token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Came {
    pub from_sender: bool,
    /// From an address that is not allowed.
    pub from_others: bool,
}

impl Came {
    /// Notes that something came from this address; false where it may not.
    pub fn note(&mut self, address: IpAddr, only: Option<IpAddr>) -> bool {
        let is_allowed = is_allowed(address, only);
        self.from_sender |= is_allowed;
        self.from_others |= !is_allowed;
        is_allowed
    }
}

/// Waits for the sender's token and then for the cookie that its address was sent, connects the
/// socket to it, discards the datagrams that were received until then, and answers with the token,
/// several times. Where `only` names an address, what comes from others is not answered. The sender
/// sends nothing else before that answer.
pub fn answer_udp(
    socket: &UdpSocket,
    token: &Token,
    only: Option<IpAddr>,
    patience: Duration,
    came: &mut Came,
) -> io::Result<SocketAddr> {
    let deadline = Instant::now() + patience;
    let (wanted, cookies) = (greeting(TOKEN, token), Cookies(RandomState::new()));
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
        let cookie = cookies.of(peer);
        if datagram[..length] == wanted {
            // A lost or refused one is asked for again.
            let _ = socket.send_to(&cookie, peer);
        } else if datagram[..length] == cookie {
            socket.connect(peer)?;
            drop_queued(socket, deadline)?;
            for _ in 0..ANSWERS {
                socket.send(&wanted)?;
            }
            return Ok(peer);
        }
    }
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

/// Sends the token, and then the cookie with which the receiver answers, until the receiver has
/// answered with the token.
pub fn greet_udp(socket: &UdpSocket, token: &Token, patience: Duration) -> io::Result<()> {
    let deadline = Instant::now() + patience;
    let wanted = greeting(TOKEN, token);
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
