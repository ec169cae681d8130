//! Who of those that connect is the sender: the tokens of all connections are read at once, so that nobody who is slow or
//! silent keeps the sender waiting.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::handshake::{TOKEN_BYTES, Token, is_timeout, time_left};

/// Connections that may wait to be accepted, so that a stranger's do not keep out the sender's.
pub const BACKLOG: i32 = 128;

/// Connections whose tokens are being read; for one more the oldest is closed. A sender shows its token at once.
const PROVING_MAX: usize = 128;

/// Accepted in a row before those that wait are read.
const ACCEPTED_AT_ONCE: usize = 32;

/// A wait after an error that ends by itself, such as a lack of descriptors.
const MOMENT: Duration = Duration::from_millis(5);

/// A connection that has not shown a whole token.
struct Proving {
    stream: TcpStream,
    shown: Token,
    length: usize,
}

/// What a connection has shown.
enum Shown {
    /// The token.
    Token,
    /// A part of something.
    Part,
    /// Something else, or nothing, and it has ended.
    Other,
}

impl Proving {
    fn new(stream: TcpStream) -> Proving {
        Proving { stream, shown: Token::default(), length: 0 }
    }

    /// Takes what has come, without waiting.
    fn read(&mut self, token: &Token) -> Shown {
        loop {
            match recv(&self.stream, &mut self.shown[self.length..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Shown::Other,
                Ok((length, _)) => self.length += length,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Shown::Part,
                Err(_) => return Shown::Other,
            }
            if self.length == TOKEN_BYTES {
                return if self.shown == *token { Shown::Token } else { Shown::Other };
            }
        }
    }
}

/// The connection of the first who shows the token, and who is answered with it; others are closed.
///
/// # Errors
/// `ETIMEDOUT` when nobody does within `patience`, and the listener's own.
pub fn accept_with_token(listener: &TcpListener, token: &Token, patience: Duration) -> io::Result<TcpStream> {
    let deadline = Instant::now() + patience;
    listener.set_nonblocking(true)?;
    let mut proving: VecDeque<Proving> = VecDeque::new();
    loop {
        let files: Vec<BorrowedFd> =
            [listener.as_fd()].into_iter().chain(proving.iter().map(|one| one.stream.as_fd())).collect();
        sys::process::wait_any(&files, Some(time_left(deadline)?))?;
        accept_some(listener, &mut proving)?;
        if let Some(mut stream) = read_all(&mut proving, token) {
            listener.set_nonblocking(false)?;
            stream.write_all(token)?;
            return Ok(stream);
        }
        while proving.len() > PROVING_MAX {
            proving.pop_front();
        }
    }
}

/// Reads what has come of each; the first who has shown the token, and without those who showed something else.
fn read_all(proving: &mut VecDeque<Proving>, token: &Token) -> Option<TcpStream> {
    let mut index = 0;
    while let Some(one) = proving.get_mut(index) {
        match one.read(token) {
            Shown::Part => index += 1,
            Shown::Other => drop(proving.remove(index)),
            Shown::Token => return proving.remove(index).map(|one| one.stream),
        }
    }
    None
}

/// Takes what waits at the listener. Where no descriptor is left, the oldest connection gives its own.
fn accept_some(listener: &TcpListener, proving: &mut VecDeque<Proving>) -> io::Result<()> {
    for _ in 0..ACCEPTED_AT_ONCE {
        match listener.accept() {
            Ok((stream, _)) => proving.push_back(Proving::new(stream)),
            Err(error) if is_timeout(&error) => return Ok(()),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::INTR | Errno::CONNABORTED) => {}
                Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    if proving.pop_front().is_none() {
                        std::thread::sleep(MOMENT);
                    }
                    return Ok(());
                }
                _ => return Err(error),
            },
        }
    }
    Ok(())
}
