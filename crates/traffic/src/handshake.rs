//! The token by which the two ends of a run know each other.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// Length of a token.
pub const TOKEN_BYTES: usize = 16;

/// Drawn at random for each run by the controller, and known to both ends only.
pub type Token = [u8; TOKEN_BYTES];

/// Length of the datagram that carries a token: a header and the token.
const HELLO_BYTES: usize = 8 + TOKEN_BYTES;

/// First byte of a header that carries a token instead of a message.
pub const HELLO_MARK: u8 = 0xBF;

/// True for the begin of a datagram that carries a token.
pub fn is_greeting(datagram: &[u8]) -> bool {
    datagram.starts_with(&hello(&Token::default())[..HELLO_BYTES - TOKEN_BYTES])
}

fn hello(token: &Token) -> [u8; HELLO_BYTES] {
    let mut datagram = [0; HELLO_BYTES];
    datagram[0] = HELLO_MARK;
    datagram[8..].copy_from_slice(token);
    datagram
}

/// Waits for the sender's token, connects the socket to where it came from, drops what came until then, and answers with
/// the token: the sender sends nothing but its token before that answer.
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
                socket.send(&wanted)?;
                return Ok(peer);
            }
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Takes out of the socket what is queued, from whomever it came: connecting drops none of it.
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

/// Sends the token, again each 100 ms, until the receiver has answered with it.
pub fn greet_udp(socket: &UdpSocket, token: &Token, patience: Duration) -> io::Result<()> {
    let deadline = Instant::now() + patience;
    let greeting = hello(token);
    let mut datagram = [0; HELLO_BYTES + 1];
    loop {
        let left = time_left(deadline)?;
        // A refused datagram means that the receiver is not there yet.
        let _ = socket.send(&greeting);
        socket.set_read_timeout(Some(left.min(Duration::from_millis(100))))?;
        match socket.recv(&mut datagram) {
            Ok(length) if datagram[..length] == greeting => return Ok(()),
            Ok(_) => {}
            Err(error) if is_timeout(&error) || error.kind() == io::ErrorKind::ConnectionRefused => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
}

/// The time until `deadline`.
pub fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// True where a socket's timeout ran out.
pub fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
