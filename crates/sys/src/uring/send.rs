//! Messages sent as a chain of linked requests, one per message.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use io_uring::squeue::{Entry, Flags};
use io_uring::{cqueue, opcode, types};

use super::ring::{Ring, is_passing};

/// `IORING_SEND_ZC_REPORT_USAGE`, `IORING_NOTIF_USAGE_ZC_COPIED` (linux/io_uring.h, Linux 6.2).
const REPORT_USAGE: u16 = 1 << 3;
const USAGE_COPIED: u32 = 1 << 31;

/// The operation of each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// `IORING_OP_SEND`.
    Copying,
    /// `IORING_OP_SEND_ZC` from registered memory; notifications report what was copied nevertheless.
    ZeroCopy,
}

/// Totals of a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounts {
    /// Calls of `io_uring_enter`.
    pub enters: u64,
    /// Requests.
    pub submissions: u64,
    /// Completions, including those of cancelled requests.
    pub completions: u64,
    /// Zero-copy: requests that a notification must follow.
    pub notifications_due: u64,
    /// Zero-copy: notifications that the kernel no longer needs the memory.
    pub notifications: u64,
    /// Of these, the number that report a copy.
    pub notifications_copied: u64,
}

/// The result of one chain.
#[derive(Debug, Default)]
pub struct Sent {
    /// Leading messages that were taken whole.
    pub whole: usize,
    /// Bytes taken of the message after these.
    pub partial: usize,
    /// Calls of `io_uring_enter`.
    pub enters: u64,
    /// Why the chain broke, where the kernel reported it.
    pub error: Option<io::Error>,
}

/// A socket's ring for sending, with the memory of its messages.
pub struct SendRing {
    /// Closed before the memory is freed.
    ring: Ring,
    socket: OwnedFd,
    how: How,
    memory: Box<[u8]>,
    room: usize,
    counts: SendCounts,
}

impl SendRing {
    /// A ring for chains of up to `depth` messages, with `slots` different ones of `room` bytes in memory.
    ///
    /// # Errors
    /// The error of the system call: `EPERM` where a sysctl or a filter forbids it, `ENOSYS` and `EINVAL` where it is too old,
    /// `ENOMEM` where the memory may not be locked (zero-copy).
    pub fn new(
        socket: BorrowedFd<'_>,
        how: How,
        depth: u32,
        slots: usize,
        room: usize,
        fill: u8,
    ) -> io::Result<Self> {
        let memory = vec![fill; slots * room].into_boxed_slice();
        // Notifications may come at any time, so that there is space for many.
        let ring = Ring::new(
            depth,
            if how == How::ZeroCopy {
                4096
            } else {
                2 * depth
            },
        )?;
        if how == How::ZeroCopy {
            let whole = libc::iovec {
                iov_base: memory.as_ptr().cast_mut().cast(),
                iov_len: memory.len(),
            };
            // SAFETY: the memory is on the heap, is never moved, and outlives the ring, or is leaked with it.
            unsafe { ring.ring.submitter().register_buffers(&[whole]) }?;
        }
        let socket = socket.try_clone_to_owned()?;
        Ok(SendRing {
            ring,
            socket,
            how,
            memory,
            room,
            counts: SendCounts::default(),
        })
    }

    /// The message in this slot, which may be changed before a chain is sent.
    pub fn message_mut(&mut self, slot: usize) -> &mut [u8] {
        &mut self.memory[slot * self.room..][..self.room]
    }

    /// Sends `count` messages as one chain and waits until the kernel has completed each. Of a message, the
    /// bytes from `offset` to `length` are sent.
    ///
    /// # Errors
    /// Only those of entering the kernel; why a message was not taken is in the result.
    pub fn send(&mut self, count: usize, offset: usize, length: usize) -> io::Result<Sent> {
        self.queue(count, offset, length)?;
        let enters_before = self.ring.enters;
        let mut sent = Sent::default();
        let mut answers = 0;
        while answers < count {
            match self.ring.enter(count - answers, None) {
                Err(error) if !is_passing(&error) => return Err(error),
                _ => {}
            }
            for entry in self.ring.ring.completion() {
                if self.counts.take(&entry) {
                    answers += 1;
                    sent.take(entry.result(), length - offset);
                }
            }
        }
        sent.enters = self.ring.enters - enters_before;
        self.counts.enters = self.ring.enters;
        Ok(sent)
    }

    fn queue(&mut self, count: usize, offset: usize, length: usize) -> io::Result<()> {
        let slots = self.memory.len() / self.room;
        if count == 0 || offset >= length || length > self.room {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for index in 0..count {
            let message = &self.memory[index % slots * self.room..][offset..length];
            let entry = self.request(message);
            let entry = if index + 1 < count {
                entry.flags(Flags::IO_LINK)
            } else {
                entry
            };
            // SAFETY: the request reads from memory that the ring owns, and which is kept until the kernel has
            // answered, or for ever.
            unsafe { self.ring.ring.submission().push(&entry) }.map_err(io::Error::other)?;
            self.counts.submissions += 1;
        }
        Ok(())
    }

    fn request(&self, message: &[u8]) -> Entry {
        let (fd, flags) = (
            types::Fd(self.socket.as_raw_fd()),
            libc::MSG_WAITALL | libc::MSG_NOSIGNAL,
        );
        let (start, length) = (message.as_ptr(), message.len() as u32);
        match self.how {
            How::Copying => opcode::Send::new(fd, start, length).flags(flags).build(),
            How::ZeroCopy => {
                let request = opcode::SendZc::new(fd, start, length).buf_index(Some(0));
                request.flags(flags).zc_flags(REPORT_USAGE).build()
            }
        }
    }

    /// Waits for the notifications that are due, no longer than `patience`. For the thread that sent.
    pub fn take_notifications(&mut self, patience: Duration) {
        let SendRing { ring, counts, .. } = self;
        if counts.is_settled() {
            return;
        }
        ring.settle(patience, |entry| {
            counts.take(entry);
            counts.is_settled()
        });
        counts.enters = ring.enters;
    }

    /// The totals up to now.
    pub fn counts(&self) -> SendCounts {
        self.counts
    }
}

impl SendCounts {
    /// Counts a completion or a notification; true for a completion.
    fn take(&mut self, entry: &cqueue::Entry) -> bool {
        if cqueue::notif(entry.flags()) {
            self.notifications += 1;
            self.notifications_copied += u64::from(entry.result() as u32 & USAGE_COPIED != 0);
            return false;
        }
        self.completions += 1;
        self.notifications_due += u64::from(cqueue::more(entry.flags()));
        true
    }

    fn is_settled(&self) -> bool {
        self.completions == self.submissions && self.notifications == self.notifications_due
    }
}

impl Sent {
    /// Handles the completion of the next message of the chain, of `length` bytes.
    fn take(&mut self, result: i32, length: usize) {
        match usize::try_from(result) {
            Ok(bytes) if bytes == length => self.whole += 1,
            Ok(bytes) => self.partial = bytes,
            // The kernel cancels what comes after the one that broke the chain.
            Err(_) if result == -libc::ECANCELED => {}
            Err(_) => self.error = Some(io::Error::from_raw_os_error(-result)),
        }
    }
}

impl Drop for SendRing {
    fn drop(&mut self) {
        if !self.counts.is_settled() {
            // The kernel may still read it.
            mem::forget(mem::take(&mut self.memory));
        }
    }
}
