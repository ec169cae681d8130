//! A TLS connection over a TCP socket that never blocks: every wait has an end.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::Connection;

use crate::fingerprint::Fingerprint;
use crate::frames::Frames;

/// The time after which a peer that acknowledges nothing is gone (`TCP_USER_TIMEOUT`, RFC 5482).
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

/// Reads of the socket before others get a turn.
const READS: usize = 4;

/// The connection.
pub struct Secure {
    socket: TcpStream,
    tls: Connection,
}

impl Secure {
    /// Takes a connected socket.
    ///
    /// # Errors
    /// The error of the system call.
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
    ///
    /// # Errors
    /// When the peer cannot, ends the connection, or takes too long.
    pub fn handshake(&mut self, until: Instant) -> io::Result<()> {
        while self.tls.is_handshaking() {
            if self.tls.wants_write() {
                self.flush(until)?;
            } else {
                self.read_tls(until)?;
            }
        }
        self.flush(until)
    }

    /// The fingerprint of the key that the peer proved.
    pub fn peer_key(&self) -> Option<Fingerprint> {
        self.tls
            .peer_certificates()
            .and_then(<[_]>::first)
            .map(|key| Fingerprint::of(key))
    }

    /// Waits for the next whole message.
    ///
    /// # Errors
    /// When the connection ends before, the message is too long, or it takes too long.
    pub fn read_frame(&mut self, frames: &mut Frames, until: Instant) -> io::Result<Vec<u8>> {
        let long = |error: crate::frames::TooLong| io::Error::new(ErrorKind::InvalidData, error);
        let mut is_open = true;
        loop {
            if let Some(text) = frames.take().map_err(long)? {
                return Ok(text);
            }
            if !is_open {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let mut bytes = Vec::new();
            // The last bytes may come together with the end.
            is_open = self.take(&mut bytes)?;
            match bytes.is_empty() {
                true if is_open => self.wait(PollFlags::IN, until)?,
                _ => frames.push(&bytes),
            }
        }
    }

    /// Sends all of these bytes.
    ///
    /// # Errors
    /// When the connection ends before, or it takes too long.
    pub fn send(&mut self, mut bytes: &[u8], until: Instant) -> io::Result<()> {
        while !bytes.is_empty() {
            let taken = self.put(bytes)?;
            bytes = &bytes[taken..];
            self.flush(until)?;
        }
        Ok(())
    }

    /// Appends what arrived, without waiting. False: the peer has ended the connection.
    ///
    /// # Errors
    /// The connection is broken, or the peer breaks the protocol.
    pub fn take(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        for _ in 0..READS {
            // What arrived with the end of the handshake is read without any further packet.
            if !self.decrypted(into)? {
                return Ok(false);
            }
            match self.tls.read_tls(&mut self.socket) {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.decrypted(into)
    }

    /// Appends what is decrypted. False: the peer has said that nothing more comes.
    fn decrypted(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        let state = self.process()?;
        let start = into.len();
        into.resize(start + state.plaintext_bytes_to_read(), 0);
        self.tls.reader().read_exact(&mut into[start..])?;
        Ok(!state.peer_has_closed())
    }

    /// Takes as many of these bytes as there is room for; they leave with [`Secure::flush_some`].
    ///
    /// # Errors
    /// The connection is broken.
    pub fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tls.writer().write(bytes)
    }

    /// Sends what the socket has room for.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn flush_some(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether bytes wait for room in the socket.
    pub fn is_full(&self) -> bool {
        self.tls.wants_write()
    }

    /// Says that nothing more comes.
    pub fn close(&mut self, until: Instant) {
        self.tls.send_close_notify();
        let _ = self.flush(until);
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }

    fn flush(&mut self, until: Instant) -> io::Result<()> {
        loop {
            self.flush_some()?;
            if !self.tls.wants_write() {
                return Ok(());
            }
            self.wait(PollFlags::OUT, until)?;
        }
    }

    fn read_tls(&mut self, until: Instant) -> io::Result<()> {
        match self.tls.read_tls(&mut self.socket) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => self.process().map(|_| ()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait(PollFlags::IN, until),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn process(&mut self) -> io::Result<rustls::IoState> {
        self.tls.process_new_packets().map_err(|error| {
            // The peer is told why.
            let _ = self.tls.write_tls(&mut self.socket);
            io::Error::new(ErrorKind::InvalidData, error)
        })
    }

    fn wait(&self, flags: PollFlags, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || !wait_any(&mut [PollFd::new(&self.socket, flags)], left)? {
            return Err(ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

impl AsFd for Secure {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Waits until one of these is ready; false: none was in time.
///
/// # Errors
/// The error of poll(2), but not that a signal arrived.
pub fn wait_any(fds: &mut [PollFd<'_>], time: Duration) -> io::Result<bool> {
    let time = Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: i64::from(time.subsec_nanos()),
    };
    match poll(fds, Some(&time)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
