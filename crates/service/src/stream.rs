//! Connections that never block and on which every wait has an end: the TLS connection with a client, and the socket between
//! two processes of a service.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use bitcost_model::conditions::OUTAGE_TIMEOUT_MAX_MS;
use bitcost_sys::process::wait_ready;
use bitcost_sys::socket::{self, TCP_RTO_MAX_MS, is_passing};
use rustix::event::{PollFd, PollFlags};
use rustls::Connection;

use crate::frames::Frames;

/// The most bytes of one read.
pub const PART: usize = 64 << 10;

/// The time after which a peer that acknowledges nothing is gone (`TCP_USER_TIMEOUT`, RFC 5482).
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

/// The same of a session, which may outlast an outage: the longest lease of an agent, and some more.
const UNACKNOWLEDGED_IN_SESSION: Duration =
    Duration::from_millis(OUTAGE_TIMEOUT_MAX_MS).saturating_add(UNACKNOWLEDGED);

/// The longest time between two retransmissions in a session (`TCP_RTO_MAX_MS`, Linux 6.15), so that it continues soon
/// after an outage.
const RETRANSMIT_MS: i32 = 1000;

/// A socket that does not block. What it takes has left when `flush` succeeds.
pub trait Stream: Read + Write + AsFd {
    /// Waits for the next whole message.
    fn read_frame(&mut self, frames: &mut Frames, until: Instant) -> io::Result<Vec<u8>> {
        let long = |error: crate::message::Refused| io::Error::new(ErrorKind::InvalidData, error);
        let mut bytes = vec![0; PART];
        loop {
            if let Some(text) = frames.take().map_err(long)? {
                return Ok(text);
            }
            match self.read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => frames.push(&bytes[..length]),
                Err(error) if is_passing(&error) => wait(self, PollFlags::IN, until)?,
                Err(error) => return Err(error),
            }
        }
    }

    fn send(&mut self, bytes: &[u8], until: Instant) -> io::Result<()> {
        send(self, bytes, until)
    }
}

impl<T: Read + Write + AsFd> Stream for T {}

/// Writes all of these bytes to what does not block.
pub fn send(to: &mut (impl Write + AsFd + ?Sized), bytes: &[u8], until: Instant) -> io::Result<()> {
    let mut queue = bytes.to_vec();
    while drain(to, &mut queue)? {
        wait(to, PollFlags::OUT, until)?;
    }
    Ok(())
}

/// Writes what is taken; whether there is more.
pub fn drain(into: &mut (impl Write + ?Sized), queue: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        let step = match queue.is_empty() {
            true => into.flush().map(|()| 0),
            false => into.write(queue),
        };
        match step {
            Ok(0) if queue.is_empty() => return Ok(false),
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(length) => drop(queue.drain(..length)),
            Err(error) if is_passing(&error) => return Ok(true),
            Err(error) => return Err(error),
        }
    }
}

/// Waits until a socket is ready.
fn wait(on: &(impl AsFd + ?Sized), flags: PollFlags, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    let mut socket = [PollFd::from_borrowed_fd(on.as_fd(), flags)];
    if left.is_zero() || !wait_ready(&mut socket, Some(left))? {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(())
}

/// A TLS connection over a TCP socket.
pub struct Secure {
    socket: TcpStream,
    tls: Connection,
}

impl Secure {
    pub fn new(socket: TcpStream, tls: impl Into<Connection>) -> io::Result<Secure> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        rustix::net::sockopt::set_tcp_user_timeout(&socket, UNACKNOWLEDGED.as_millis() as u32)?;
        Ok(Secure {
            socket,
            tls: tls.into(),
        })
    }

    /// Both sides prove their keys.
    pub fn handshake(&mut self, until: Instant) -> io::Result<()> {
        while self.tls.is_handshaking() {
            if self.tls.wants_write() {
                self.send(&[], until)?;
                continue;
            }
            match self.receive() {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if is_passing(&error) => wait(self, PollFlags::IN, until)?,
                Err(error) => return Err(error),
            }
        }
        self.send(&[], until)
    }

    /// Takes bytes from the socket, and decrypts what is whole.
    fn receive(&mut self) -> io::Result<usize> {
        let length = self.tls.read_tls(&mut self.socket)?;
        let read = self.tls.process_new_packets();
        read.map(|_| length).map_err(|error| {
            // The peer is told why.
            let _ = self.tls.write_tls(&mut self.socket);
            io::Error::new(ErrorKind::InvalidData, error)
        })
    }
}

/// Has the connection of a session last while its path is interrupted.
pub fn outlast_outages(socket: impl AsFd) {
    let ms = UNACKNOWLEDGED_IN_SESSION.as_millis() as u32;
    // Where the kernel has no such option, TCP doubles the time from one retransmission to the next.
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&socket, ms);
    let _ = socket::set_int(&socket, TCP_RTO_MAX_MS, RETRANSMIT_MS);
}

impl Read for Secure {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // What arrived with the end of the handshake is read without any further packet.
        match self.tls.reader().read(into) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            read => return read,
        }
        match self.receive()? {
            0 => Ok(0),
            _ => self.tls.reader().read(into),
        }
    }
}

impl Write for Secure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.flush()?;
        self.tls.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.socket)?;
        }
        Ok(())
    }
}

impl AsFd for Secure {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        self.tls.send_close_notify();
        let _ = self.flush();
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }
}
