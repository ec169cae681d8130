//! The token by which the two endpoints of a run authenticate each other.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// Length of a token.
pub const TOKEN_BYTES: usize = 16;

/// A random number that the controller draws for each run; only both endpoints know it.
pub type Token = [u8; TOKEN_BYTES];

/// The token of a loop without another endpoint.
pub const NO_TOKEN: Token = [0; TOKEN_BYTES];

/// Length of the datagram that carries a token: a header and the token.
const HELLO_BYTES: usize = 8 + TOKEN_BYTES;

/// First byte of a header that carries a token instead of a message.
pub const HELLO_MARK: u8 = 0xBF;

/// Datagrams with which a receiver answers a token, because some may be lost. Of a path that loses
/// 30 % of them, all are lost in one of 1400 handshakes.
const ANSWERS: usize = 6;

/// The time in which the copies of an answer come after the first one.
const COPIES: Duration = Duration::from_millis(2);

/// True for a datagram that carries a token.
pub fn is_greeting(datagram: &[u8]) -> bool {
    datagram.starts_with(&hello(&Token::default())[..HELLO_BYTES - TOKEN_BYTES])
}

fn hello(token: &Token) -> [u8; HELLO_BYTES] {
    let mut datagram = [0; HELLO_BYTES];
    datagram[0] = HELLO_MARK;
    datagram[8..].copy_from_slice(token);
    datagram
}

/// Waits for the sender's token, connects the socket to its address, discards the datagrams that
/// were received until then, and answers with the token, several times. The sender sends nothing but its token
/// before that answer.
pub fn answer_udp(socket: &UdpSocket, token: &Token, patience: Duration) -> io::Result<SocketAddr> {
    let deadline = Instant::now() + patience;
    let wanted = hello(token);
    let mut datagram = [0; HELLO_BYTES + 1];
    loop {
        socket.set_read_timeout(Some(time_left(deadline)?))?;
        match socket.recv_from(&mut datagram) {
            Ok((length, peer)) if datagram[..length] == wanted => {
                socket.connect(peer)?;
                drop_queued(socket, deadline)?;
                for _ in 0..ANSWERS {
                    socket.send(&wanted)?;
                }
                return Ok(peer);
            }
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
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

/// Sends the token every 100 ms until the receiver has answered with it.
pub fn greet_udp(socket: &UdpSocket, token: &Token, patience: Duration) -> io::Result<()> {
    let deadline = Instant::now() + patience;
    let greeting = hello(token);
    let mut datagram = [0; HELLO_BYTES + 1];
    loop {
        let left = time_left(deadline)?;
        // A refused datagram means that the receiver is not listening yet.
        let _ = socket.send(&greeting);
        socket.set_read_timeout(Some(left.min(Duration::from_millis(100))))?;
        match socket.recv(&mut datagram) {
            Ok(length) if datagram[..length] == greeting => {
                // The other answers, which would otherwise be the first datagrams of the traffic.
                std::thread::sleep(COPIES);
                return drop_queued(socket, deadline);
            }
            Ok(_) => {}
            Err(error)
                if is_timeout(&error) || error.kind() == io::ErrorKind::ConnectionRefused =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
}

/// The time until `deadline`.
pub fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        Err(io::ErrorKind::TimedOut.into())
    } else {
        Ok(left)
    }
}

/// True for the timeout of a socket.
pub fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
