//! `zerocopy`: the kernel sends from the program's own pages (kernel documentation,
//! networking/msg_zerocopy).
//!
//! The data is never changed, so the next send call need not wait for a completion. Completions are
//! read from the error queue from time to time, because its size is limited.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use bitcost_model::record::FlowRecord;
use bitcost_sys::socket::{self, SO_ZEROCOPY};
use bitcost_sys::zerocopy::take_completed;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::mover::{Mover, Moving, Place, Prepared, send_paced};
use crate::flow::Sent;
use crate::loops::Supply;

/// `MSG_ZEROCOPY` (linux/socket.h).
const ZEROCOPY: SendFlags = SendFlags::from_bits_retain(0x400_0000);

/// Send calls between readings of the error queue.
const LOOK_EVERY: u64 = 32;

/// Longest wait for the last completions after the connection's end.
const LAST_COMPLETIONS: Duration = Duration::from_millis(500);

#[derive(Default)]
struct Book {
    calls: u64,
    completed: u64,
    copied: u64,
    queue_reads: u64,
    /// Calls that the kernel refused for now, because too much was in flight.
    put_off: u64,
    refused: bool,
}

impl Book {
    fn take_completions(&mut self, socket: impl AsFd) {
        loop {
            self.queue_reads += 1;
            let Ok(completed) = take_completed(socket.as_fd()) else {
                return;
            };
            self.completed += completed.calls;
            self.copied += if completed.copied { completed.calls } else { 0 };
        }
    }

    /// Sends once. A call that is possible only after a completion returns `EINTR`, so that it is
    /// repeated.
    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
        if self.calls % LOOK_EVERY == LOOK_EVERY - 1 {
            self.take_completions(socket);
        }
        // Read before the call: a later completion must not look like a refusal.
        let was_alone = self.completed == self.calls;
        let result = send(socket, bytes, SendFlags::NOSIGNAL | ZEROCOPY);
        match result {
            Ok(_) => self.calls += 1,
            Err(Errno::NOBUFS) => {
                self.take_completions(socket);
                if was_alone {
                    self.refused = true;
                    return Err(Errno::CANCELED);
                }
                self.put_off += 1;
                if self.completed < self.calls {
                    wait_for_completion(socket);
                }
                return Err(Errno::INTR);
            }
            Err(_) => {}
        }
        result
    }
}

fn wait_for_completion(socket: BorrowedFd<'_>) {
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: 10_000_000,
    };
    // The result of the wait does not matter: the caller reads the queue again.
    let _ = poll(
        &mut [PollFd::from_borrowed_fd(socket, PollFlags::empty())],
        Some(&timeout),
    );
}

struct Sender {
    message: Vec<u8>,
    supply: Supply,
    book: Book,
}

pub fn sender(on: &Place) -> Prepared {
    socket::set_int(on.socket, SO_ZEROCOPY, 1)?;
    let message = vec![0x5A; on.conditions.message_size_bytes as usize];
    Ok(Box::new(Sender {
        message,
        supply: Supply::of(on.conditions),
        book: Book::default(),
    }))
}

impl Mover for Sender {
    fn run(&mut self, on: Moving) -> Result<(), Errno> {
        let Sender { message, book, .. } = self;
        let result = send_paced(on.control, self.supply, on.pacer, |done, length| {
            book.send(on.socket, &message[done..length])
        });
        if book.refused {
            Err(Errno::NOBUFS)
        } else {
            result
        }
    }

    fn ended(&mut self, socket: BorrowedFd<'_>) {
        let book = &mut self.book;
        let deadline = Instant::now() + LAST_COMPLETIONS;
        book.take_completions(socket);
        while book.completed < book.calls && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
            book.take_completions(socket);
        }
    }

    fn report(&self, _sent: Sent, outcome: &mut FlowRecord) {
        let book = &self.book;
        let counters = [
            ("zerocopy_calls", book.calls),
            ("zerocopy_completed", book.completed),
            ("zerocopy_copied", book.copied),
            ("zerocopy_put_off", book.put_off),
            ("zerocopy_queue_reads", book.queue_reads),
        ];
        outcome.mode_counters = counters
            .map(|(name, count)| (name.to_owned(), count))
            .into();
    }
}
