//! A multishot receive request into buffers that the kernel chooses from a ring.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use io_uring::types::BufRingEntry;
use io_uring::{cqueue, opcode, types};

use super::ring::{Ring, is_passing};
use crate::datagram::Wait;

/// The ring's only group of buffers.
const GROUP: u16 = 0;

/// Distinguishes completions of the receive request from those of its cancellation.
const RECEIVE: u64 = 1;
const CANCEL: u64 = 2;

/// Longest wait for the end of a cancelled request.
const CANCELLED: Duration = Duration::from_secs(1);

/// Totals of a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveCounts {
    /// Calls of `io_uring_enter`.
    pub enters: u64,
    /// Multishot requests: the first, and one each time that the kernel ended the previous one.
    pub submissions: u64,
    /// Buffers that the kernel filled.
    pub completions: u64,
    /// Requests that ended because no buffer was free.
    pub out_of_buffers: u64,
}

/// The ring of free buffers, which the kernel reads (`struct io_uring_buf_ring`).
struct FreeList {
    entries: NonNull<BufRingEntry>,
    layout: Layout,
    count: u16,
    tail: u16,
}

// SAFETY: the memory belongs to this list alone, and only methods that borrow it use it.
unsafe impl Send for FreeList {}

impl FreeList {
    fn new(count: u16) -> io::Result<FreeList> {
        let bytes = usize::from(count) * size_of::<BufRingEntry>();
        let layout =
            Layout::from_size_align(bytes, rustix::param::page_size()).map_err(io::Error::other)?;
        // SAFETY: the layout has a size above 0, because a ring has at least one buffer.
        let memory = unsafe { alloc_zeroed(layout) };
        let entries = NonNull::new(memory.cast()).unwrap_or_else(|| handle_alloc_error(layout));
        Ok(FreeList {
            entries,
            layout,
            count,
            tail: 0,
        })
    }

    /// Appends a buffer; the kernel sees it after [`FreeList::publish`].
    fn put(&mut self, buffer: u16, start: *mut u8, length: u32) {
        let place = usize::from(self.tail % self.count);
        // SAFETY: the place is one of `count` entries, and no other reference to it exists.
        let entry = unsafe { self.entries.add(place).as_mut() };
        entry.set_addr(start as u64);
        entry.set_len(length);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&mut self) {
        // SAFETY: the pointer leads to the first entry, where the kernel has the tail, aligned as a `u16`.
        let tail =
            unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

/// A socket's ring for receiving, with its buffers.
pub struct ReceiveRing {
    /// Closed before the memory is freed.
    ring: Ring,
    socket: OwnedFd,
    free: FreeList,
    memory: Box<[u8]>,
    room: usize,
    /// True while the kernel has the request.
    is_armed: bool,
    /// Buffers that were filled, with their bytes.
    filled: Vec<(u16, usize)>,
    /// To be reported after the data before it: an error, or the end.
    ending: Option<io::Result<()>>,
    counts: ReceiveCounts,
}

impl ReceiveRing {
    /// A ring with `count` buffers (a power of two) of `room` bytes each.
    ///
    /// # Errors
    /// The error of the system call: `EPERM` where a sysctl or a filter forbids it, `ENOSYS` and `EINVAL` where it is too old.
    pub fn new(socket: BorrowedFd<'_>, count: u16, room: usize) -> io::Result<ReceiveRing> {
        if count == 0 || !count.is_power_of_two() || u32::try_from(room).is_err() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let memory = vec![0; usize::from(count) * room].into_boxed_slice();
        let ring = Ring::new(8, 2 * u32::from(count))?;
        let free = FreeList::new(count)?;
        let start = free.entries.as_ptr() as u64;
        // SAFETY: the entries are page-aligned, `count` of them, and outlive the ring, or are leaked with it.
        unsafe {
            ring.ring
                .submitter()
                .register_buf_ring_with_flags(start, count, GROUP, 0)
        }?;
        let (socket, filled) = (
            socket.try_clone_to_owned()?,
            (0..count).map(|buffer| (buffer, 0)).collect(),
        );
        let counts = ReceiveCounts::default();
        Ok(ReceiveRing {
            ring,
            socket,
            free,
            memory,
            room,
            is_armed: false,
            filled,
            ending: None,
            counts,
        })
    }

    /// Frees the buffers of the previous call, makes one call for more, and returns the number of bytes; 0 at the end.
    ///
    /// # Errors
    /// The error of the system call; `EAGAIN` when nothing was received, within `patience` where the call sleeps.
    pub fn receive(&mut self, wait: Wait, patience: Duration) -> io::Result<usize> {
        self.give_back();
        if let Some(ending) = self.ending.take() {
            return ending.map(|()| 0);
        }
        if !self.is_armed {
            self.arm()?;
        }
        let entered = match wait {
            Wait::Sleep => self.ring.enter(1, Some(patience)),
            Wait::Never => self.ring.enter(0, None),
        };
        self.counts.enters = self.ring.enters;
        self.take();
        match (self.filled.is_empty(), self.ending.take(), entered) {
            (false, ending, _) => {
                self.ending = ending;
                Ok(self.filled.iter().map(|(_, bytes)| bytes).sum())
            }
            (true, Some(ending), _) => ending.map(|()| 0),
            (true, None, Err(error)) if !is_passing(&error) => Err(error),
            (true, None, _) => Err(io::Error::from_raw_os_error(libc::EAGAIN)),
        }
    }

    /// The data of the last call, in order.
    pub fn received(&self) -> impl Iterator<Item = &[u8]> {
        self.filled
            .iter()
            .map(|(buffer, bytes)| &self.memory[usize::from(*buffer) * self.room..][..*bytes])
    }

    fn give_back(&mut self) {
        if self.filled.is_empty() {
            return;
        }
        for (buffer, _) in self.filled.drain(..) {
            let start = usize::from(buffer) * self.room;
            let memory = &mut self.memory[start..start + self.room];
            self.free
                .put(buffer, memory.as_mut_ptr(), memory.len() as u32);
        }
        self.free.publish();
    }

    fn arm(&mut self) -> io::Result<()> {
        let request = opcode::RecvMulti::new(types::Fd(self.socket.as_raw_fd()), GROUP)
            .build()
            .user_data(RECEIVE);
        // SAFETY: the request writes to buffers of the free list, which the ring owns and keeps while it is armed.
        unsafe { self.ring.ring.submission().push(&request) }.map_err(io::Error::other)?;
        self.is_armed = true;
        self.counts.submissions += 1;
        Ok(())
    }

    /// Takes every available completion.
    fn take(&mut self) {
        let ReceiveRing {
            ring,
            is_armed,
            filled,
            ending,
            counts,
            ..
        } = self;
        for entry in ring.ring.completion() {
            if entry.user_data() != RECEIVE {
                continue;
            }
            *is_armed &= cqueue::more(entry.flags());
            let buffer = cqueue::buffer_select(entry.flags());
            match (entry.result(), buffer) {
                (bytes @ 1.., Some(buffer)) => {
                    counts.completions += 1;
                    filled.push((buffer, bytes as usize));
                }
                (error, _) if error == -libc::ENOBUFS => counts.out_of_buffers += 1,
                (error @ ..=-1, _) => *ending = Some(Err(io::Error::from_raw_os_error(-error))),
                // An empty buffer is free again.
                (_, buffer) => {
                    filled.extend(buffer.map(|buffer| (buffer, 0)));
                    *ending = Some(Ok(()));
                }
            }
        }
    }

    /// Cancels the request. To be called by the thread that received; nothing is received afterwards.
    pub fn stop(&mut self) {
        if !self.is_armed {
            return;
        }
        let cancel = opcode::AsyncCancel::new(RECEIVE).build().user_data(CANCEL);
        // SAFETY: the request has no memory.
        if unsafe { self.ring.ring.submission().push(&cancel) }.is_err() {
            return;
        }
        let is_armed = &mut self.is_armed;
        self.ring.settle(CANCELLED, |entry| {
            *is_armed &= entry.user_data() != RECEIVE || cqueue::more(entry.flags());
            !*is_armed
        });
    }

    /// The totals up to now.
    pub fn counts(&self) -> ReceiveCounts {
        self.counts
    }
}

impl Drop for ReceiveRing {
    fn drop(&mut self) {
        if self.is_armed {
            // The kernel may still write to the buffers, and read the list of free ones.
            mem::forget(mem::take(&mut self.memory));
            self.free.count = 0;
        }
    }
}

impl Drop for FreeList {
    fn drop(&mut self) {
        if self.count > 0 {
            // SAFETY: allocated with this layout, and the kernel has no request that uses it.
            unsafe { dealloc(self.entries.as_ptr().cast(), self.layout) };
        }
    }
}
