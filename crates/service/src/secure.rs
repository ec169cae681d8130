//! A TLS connection over a TCP socket.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use bitcost_sys::socket::is_passing;
use rustix::event::PollFlags;
use rustls::Connection;

use crate::stream::{READS, Stream};

/// The time after which a peer that acknowledges nothing is gone (`TCP_USER_TIMEOUT`, RFC 5482).
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

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
                self.flush(until)?;
            } else {
                self.read_tls(until)?;
            }
        }
        self.flush(until)
    }

    /// Appends what is decrypted. False: the peer has said that nothing more comes.
    fn decrypted(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        let state = self.process()?;
        let start = into.len();
        into.resize(start + state.plaintext_bytes_to_read(), 0);
        self.tls.reader().read_exact(&mut into[start..])?;
        Ok(!state.peer_has_closed())
    }

    fn read_tls(&mut self, until: Instant) -> io::Result<()> {
        match self.tls.read_tls(&mut self.socket) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => self.process().map(|_| ()),
            Err(error) if is_passing(&error) => self.wait(PollFlags::IN, until),
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
}

impl Stream for Secure {
    fn take(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        for _ in 0..READS {
            // What arrived with the end of the handshake is read without any further packet.
            if !self.decrypted(into)? {
                return Ok(false);
            }
            match self.tls.read_tls(&mut self.socket) {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                Err(error) if is_passing(&error) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        self.decrypted(into)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tls.writer().write(bytes)
    }

    fn flush_some(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if is_passing(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.tls.wants_write()
    }

    fn close(&mut self, until: Instant) {
        self.tls.send_close_notify();
        let _ = self.flush(until);
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }
}

impl AsFd for Secure {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
