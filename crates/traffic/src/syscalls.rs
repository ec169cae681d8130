//! The system calls of the plain loops, or none where the loop itself is measured.

use std::cell::Cell;
use std::io;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::sequence::HEADER_BYTES;

/// The send and receive calls of a loop.
pub trait Syscalls {
    /// Sends bytes; returns how many were taken.
    fn send(&self, bytes: &[u8], flags: SendFlags) -> Result<usize, Errno>;

    /// Fills a buffer; returns the number of bytes.
    fn receive(&self, buffer: &mut [u8], flags: RecvFlags) -> Result<usize, Errno>;
}

impl<S: AsFd> Syscalls for S {
    #[inline]
    fn send(&self, bytes: &[u8], flags: SendFlags) -> Result<usize, Errno> {
        rustix::net::send(self, bytes, flags)
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8], flags: RecvFlags) -> Result<usize, Errno> {
        rustix::net::recv(self, buffer, flags).map(|(length, _)| length)
    }
}

/// The error number of an error of `sys`.
pub fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// Takes everything and returns whole messages, without a system call.
pub struct NullSocket {
    /// Bytes of a datagram; [`usize::MAX`] for a stream, which fills every buffer. After the last
    /// message a stream is closed, and no datagram comes.
    room: usize,
    /// True where a received message starts with the bytes of the last sent one, so that a response
    /// has the number of its request.
    echoes: bool,
    /// Receive calls left.
    left: Cell<u64>,
    /// The first bytes of the next received message.
    front: Cell<[u8; HEADER_BYTES]>,
    /// The first bytes of the message after that.
    next: fn([u8; HEADER_BYTES]) -> [u8; HEADER_BYTES],
}

impl NullSocket {
    /// A socket that receives `messages` messages of at most `room` bytes; `next` computes the
    /// first bytes of each from those of the previous one. [`usize::MAX`] makes it a stream.
    pub fn give(
        room: usize,
        messages: u64,
        first: [u8; HEADER_BYTES],
        next: fn([u8; HEADER_BYTES]) -> [u8; HEADER_BYTES],
    ) -> NullSocket {
        NullSocket {
            room,
            echoes: false,
            left: Cell::new(messages),
            front: Cell::new(first),
            next,
        }
    }

    /// A socket that receives the sent messages, at most `room` bytes of each.
    pub fn echo(room: usize) -> NullSocket {
        NullSocket {
            echoes: true,
            ..NullSocket::give(room, u64::MAX, [0; HEADER_BYTES], |front| front)
        }
    }
}

impl Syscalls for NullSocket {
    #[inline]
    fn send(&self, bytes: &[u8], _flags: SendFlags) -> Result<usize, Errno> {
        let bytes = std::hint::black_box(bytes);
        if self.echoes {
            let shown = bytes.len().min(HEADER_BYTES);
            let mut front = [0; HEADER_BYTES];
            front[..shown].copy_from_slice(&bytes[..shown]);
            self.front.set(front);
        }
        Ok(bytes.len())
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8], _flags: RecvFlags) -> Result<usize, Errno> {
        let Some(left) = self.left.get().checked_sub(1) else {
            return if self.room == usize::MAX {
                Ok(0)
            } else {
                Err(Errno::AGAIN)
            };
        };
        self.left.set(left);
        let length = buffer.len().min(self.room);
        let front = self.front.get();
        let shown = length.min(HEADER_BYTES);
        buffer[..shown].copy_from_slice(&front[..shown]);
        self.front.set((self.next)(front));
        std::hint::black_box(buffer);
        Ok(length)
    }
}
