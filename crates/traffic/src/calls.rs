//! The system calls of the plain loops: the kernel's, or none at all where the loop itself is measured.

use std::cell::Cell;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::sequence::HEADER_BYTES;

/// Who takes what a loop sends, and gives what it receives.
pub trait Calls {
    /// Hands over bytes; says how many were taken.
    fn send(&self, bytes: &[u8], flags: SendFlags) -> Result<usize, Errno>;

    /// Fills a buffer; says how much of it.
    fn receive(&self, buffer: &mut [u8], flags: RecvFlags) -> Result<usize, Errno>;
}

impl<S: AsFd> Calls for S {
    #[inline]
    fn send(&self, bytes: &[u8], flags: SendFlags) -> Result<usize, Errno> {
        rustix::net::send(self, bytes, flags)
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8], flags: RecvFlags) -> Result<usize, Errno> {
        rustix::net::recv(self, buffer, flags).map(|(length, _)| length)
    }
}

/// Takes everything and gives whole messages, without a system call.
pub struct Nothing {
    /// Bytes of a datagram; the greatest number for a stream, which fills every buffer. At their end a stream is closed,
    /// and datagrams come no more.
    room: usize,
    /// True where what it gives begins as what it took last, so that a response has the number of its request.
    echoes: bool,
    /// Receive calls before the other end has nothing more.
    left: Cell<u64>,
    /// The begin of what the next receive call gives.
    front: Cell<[u8; HEADER_BYTES]>,
    /// The begin of what the one after it gives.
    next: fn([u8; HEADER_BYTES]) -> [u8; HEADER_BYTES],
}

impl Nothing {
    /// One that gives `messages` messages of at most `room` bytes, whose begins follow each other by `next`.
    /// [`usize::MAX`] makes it a stream.
    pub fn give(
        room: usize,
        messages: u64,
        first: [u8; HEADER_BYTES],
        next: fn([u8; HEADER_BYTES]) -> [u8; HEADER_BYTES],
    ) -> Nothing {
        Nothing { room, echoes: false, left: Cell::new(messages), front: Cell::new(first), next }
    }

    /// One that answers as it is asked, with at most `room` bytes.
    pub fn echo(room: usize) -> Nothing {
        Nothing { echoes: true, ..Nothing::give(room, u64::MAX, [0; HEADER_BYTES], |front| front) }
    }
}

impl Calls for Nothing {
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
            return if self.room == usize::MAX { Ok(0) } else { Err(Errno::AGAIN) };
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
