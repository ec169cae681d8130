//! The connection between the process that speaks TLS with a client and the service, and what both say on it before
//! the client's own messages begin.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use bitcost_sys::socket::is_passing;
use serde::{Deserialize, Serialize};

use crate::frames::OPENING_BYTES_MAX;
use crate::message::{Hello, Refused};
use crate::stream::{READS, Stream};

/// The time in which a client must have said that it has the link.
pub const OPENING: Duration = Duration::from_secs(5);

/// The longest of these messages, in bytes: a client's first one, or what is to be signed as a list of numbers.
pub const SAID_BYTES_MAX: usize = OPENING_BYTES_MAX + (4 << 10);

const PART: usize = 16 << 10;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Said {
    /// This must be signed with the service's key; the answer is the signature's bytes.
    Sign(Vec<u8>),
    /// The client said this first, or something else than a first message, and why.
    Opened(Result<Hello, Refused>),
    Failed(String),
}

pub fn failure(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::TimedOut => format!("it did not authenticate within {} s", OPENING.as_secs()),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
            "it ended before it authenticated".to_owned()
        }
        _ => format!("it is not a client of this version of bitcost: {error}"),
    }
}

pub struct Channel {
    socket: UnixStream,
    waiting: Vec<u8>,
}

impl Channel {
    pub fn new(socket: UnixStream) -> io::Result<Channel> {
        socket.set_nonblocking(true)?;
        Ok(Channel {
            socket,
            waiting: Vec::new(),
        })
    }

    pub fn pair() -> io::Result<(Channel, OwnedFd)> {
        let (own, other) = UnixStream::pair()?;
        Ok((Channel::new(own)?, other.into()))
    }

    /// The socket, for when all that was put has left.
    pub fn socket(&self) -> &UnixStream {
        &self.socket
    }
}

impl Stream for Channel {
    fn take(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        let mut bytes = [0; PART];
        for _ in 0..READS {
            match self.socket.read(&mut bytes) {
                Ok(0) => return Ok(false),
                Ok(length) => into.extend_from_slice(&bytes[..length]),
                Err(error) if is_passing(&error) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PART.saturating_sub(self.waiting.len()).min(bytes.len());
        self.waiting.extend_from_slice(&bytes[..room]);
        Ok(room)
    }

    fn flush_some(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            match self.socket.write(&self.waiting) {
                Ok(length) => drop(self.waiting.drain(..length)),
                Err(error) if is_passing(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn close(&mut self, until: Instant) {
        let _ = self.flush(until);
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
