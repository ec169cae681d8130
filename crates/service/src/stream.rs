//! Sockets that do not block, and waits that all have an end: the TLS connection between a client and a service.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use bitcost_model::conditions::OUTAGE_TIMEOUT_MAX_MS;
use bitcost_sys::process::wait_ready;
use bitcost_sys::socket::{self, TCP_RTO_MAX_MS, is_passing};
use rustix::event::{PollFd, PollFlags};
use rustls::Connection;

use crate::message::read_frame;

/// The time after which a peer that acknowledges nothing is gone (`TCP_USER_TIMEOUT`, RFC 5482).
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

/// The same of a session, which may outlast an outage: the longest lease of an agent, and some more.
const UNACKNOWLEDGED_IN_SESSION: Duration =
    Duration::from_millis(OUTAGE_TIMEOUT_MAX_MS).saturating_add(UNACKNOWLEDGED);

/// The longest time between two retransmissions in a session (`TCP_RTO_MAX_MS`, Linux 6.15), so that it continues soon
/// after an outage.
const RETRANSMIT_MS: i32 = 1000;

/// Reads and writes what does not block, and waits for it until this time.
pub struct Until<'a, S>(pub &'a mut S, pub Instant);

impl<S: AsFd> Until<'_, S> {
    fn waited<T>(
        &mut self,
        flags: PollFlags,
        mut step: impl FnMut(&mut S) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match step(self.0) {
                Err(error) if is_passing(&error) => {}
                done => return done,
            }
            let left = self.1.saturating_duration_since(Instant::now());
            let mut socket = [PollFd::from_borrowed_fd(self.0.as_fd(), flags)];
            if left.is_zero() || !wait_ready(&mut socket, Some(left))? {
                return Err(ErrorKind::TimedOut.into());
            }
        }
    }
}

impl<S: Read + AsFd> Read for Until<'_, S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.waited(PollFlags::IN, |stream| stream.read(into))
    }
}

impl<S: Write + AsFd> Write for Until<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waited(PollFlags::OUT, |stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.waited(PollFlags::OUT, Write::flush)
    }
}

/// A TLS connection over a TCP socket. What it takes has left when `flush` succeeds.
pub struct Secure {
    socket: TcpStream,
    pub tls: Connection,
}

impl Secure {
    pub fn new(socket: TcpStream, tls: impl Into<Connection>) -> io::Result<Secure> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        rustix::net::sockopt::set_tcp_user_timeout(&socket, UNACKNOWLEDGED.as_millis() as u32)?;
        let tls = tls.into();
        Ok(Secure { socket, tls })
    }

    /// Both sides prove their keys.
    pub fn handshake(&mut self, until: Instant) -> io::Result<()> {
        while self.tls.is_handshaking() {
            self.tls.complete_io(&mut Until(&mut self.socket, until))?;
        }
        Until(self, until).flush()
    }

    pub fn send(&mut self, bytes: &[u8], until: Instant) -> io::Result<()> {
        let mut waiting = Until(self, until);
        waiting.write_all(bytes)?;
        waiting.flush()
    }

    /// The text of the next message.
    pub fn message(&mut self, most: usize, until: Instant) -> io::Result<Vec<u8>> {
        read_frame(&mut Until(self, until), most)
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
        if self.tls.read_tls(&mut self.socket)? == 0 {
            return Ok(0);
        }
        let decrypted = self.tls.process_new_packets();
        decrypted.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        self.tls.reader().read(into)
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
