//! Accepting the sender: the tokens of all connections are read concurrently, so that a slow or
//! silent client does not delay it.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use bitcost_sys::socket::is_passing;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::handshake::{Came, TOKEN_BYTES, Token, time_left};

/// The listen backlog: large enough that foreign connections do not keep out the sender's.
pub const BACKLOG: i32 = 128;

/// Most connections whose tokens are read; for one more, the oldest is closed. A sender sends its
/// token at once.
const UNVERIFIED_MAX: usize = 128;

const ACCEPTED_AT_ONCE: usize = 32;

/// The wait after a transient error, such as a lack of descriptors.
const RETRY_DELAY: Duration = Duration::from_millis(5);

struct Unverified {
    stream: TcpStream,
    shown: Token,
    length: usize,
}

enum Shown {
    Token,
    Part,
    Other,
}

impl Unverified {
    fn new(stream: TcpStream) -> Unverified {
        Unverified {
            stream,
            shown: Token::default(),
            length: 0,
        }
    }

    fn read(&mut self, token: &Token) -> Shown {
        loop {
            match recv(
                &self.stream,
                &mut self.shown[self.length..],
                RecvFlags::DONTWAIT,
            ) {
                Ok((0, _)) => return Shown::Other,
                Ok((length, _)) => self.length += length,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Shown::Part,
                Err(_) => return Shown::Other,
            }
            if self.length == TOKEN_BYTES {
                return if self.shown == *token {
                    Shown::Token
                } else {
                    Shown::Other
                };
            }
        }
    }
}

/// Accepts the first connection that sends the token; others are closed, and those of other
/// addresses than `only`, where there is one, at once. Nothing is sent back: data
/// from the receiver would make its kernel take the connection for an interactive one and delay
/// acknowledgements (`inet_csk_in_pingpong_mode`).
///
/// # Errors
/// `ETIMEDOUT` when no connection does within `patience`, and those of the listening socket.
pub fn accept_with_token(
    listener: &TcpListener,
    token: &Token,
    only: Option<IpAddr>,
    patience: Duration,
    came: &mut Came,
) -> io::Result<TcpStream> {
    let deadline = Instant::now() + patience;
    listener.set_nonblocking(true)?;
    let mut unverified: VecDeque<Unverified> = VecDeque::new();
    loop {
        let files: Vec<BorrowedFd> = [listener.as_fd()]
            .into_iter()
            .chain(unverified.iter().map(|one| one.stream.as_fd()))
            .collect();
        bitcost_sys::process::wait_any(&files, Some(time_left(deadline)?))?;
        accept_some(listener, only, &mut unverified, came)?;
        if let Some(stream) = read_all(&mut unverified, token) {
            listener.set_nonblocking(false)?;
            return Ok(stream);
        }
        while unverified.len() > UNVERIFIED_MAX {
            unverified.pop_front();
        }
    }
}

/// Reads the data of each connection. Returns the first connection with the token; closes those
/// with other data.
fn read_all(unverified: &mut VecDeque<Unverified>, token: &Token) -> Option<TcpStream> {
    let mut index = 0;
    while let Some(one) = unverified.get_mut(index) {
        match one.read(token) {
            Shown::Part => index += 1,
            Shown::Other => drop(unverified.remove(index)),
            Shown::Token => return unverified.remove(index).map(|one| one.stream),
        }
    }
    None
}

/// Accepts queued connections. Where no descriptor is free, the oldest connection is closed.
fn accept_some(
    listener: &TcpListener,
    only: Option<IpAddr>,
    unverified: &mut VecDeque<Unverified>,
    came: &mut Came,
) -> io::Result<()> {
    for _ in 0..ACCEPTED_AT_ONCE {
        match listener.accept() {
            Ok((_, from)) if !came.note(from.ip(), only) => {}
            Ok((stream, _)) => unverified.push_back(Unverified::new(stream)),
            Err(error) if is_passing(&error) => return Ok(()),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::INTR | Errno::CONNABORTED) => {}
                Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    if unverified.pop_front().is_none() {
                        std::thread::sleep(RETRY_DELAY);
                    }
                    return Ok(());
                }
                _ => return Err(error),
            },
        }
    }
    Ok(())
}
