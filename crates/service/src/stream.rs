//! A connection that never blocks and on which every wait has an end: what the one with a client and the one between two
//! processes of a service have in common.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::time::Instant;

use bitcost_sys::process::wait_ready;
use rustix::event::{PollFd, PollFlags};

use crate::frames::Frames;

/// Reads of a socket before others get a turn.
pub const READS: usize = 4;

pub trait Stream: AsFd {
    /// Appends what arrived, without waiting. False: the peer has ended the connection.
    ///
    /// # Errors
    /// The connection is broken, or the peer breaks the protocol.
    fn take(&mut self, into: &mut Vec<u8>) -> io::Result<bool>;

    /// Takes as many of these bytes as there is room for; they leave with [`Stream::flush_some`].
    fn put(&mut self, bytes: &[u8]) -> io::Result<usize>;

    fn flush_some(&mut self) -> io::Result<()>;

    fn is_full(&self) -> bool;

    fn close(&mut self, until: Instant);

    /// Waits for the next whole message.
    fn read_frame(&mut self, frames: &mut Frames, until: Instant) -> io::Result<Vec<u8>> {
        let long = |error: crate::message::Refused| io::Error::new(ErrorKind::InvalidData, error);
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
    fn send(&mut self, mut bytes: &[u8], until: Instant) -> io::Result<()> {
        while !bytes.is_empty() {
            let taken = self.put(bytes)?;
            bytes = &bytes[taken..];
            self.flush(until)?;
        }
        Ok(())
    }

    /// Sends all that was put.
    fn flush(&mut self, until: Instant) -> io::Result<()> {
        loop {
            self.flush_some()?;
            if !self.is_full() {
                return Ok(());
            }
            self.wait(PollFlags::OUT, until)?;
        }
    }

    /// Waits until the socket is ready.
    fn wait(&self, flags: PollFlags, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        let mut socket = [PollFd::from_borrowed_fd(self.as_fd(), flags)];
        if left.is_zero() || !wait_ready(&mut socket, Some(left))? {
            return Err(ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}
