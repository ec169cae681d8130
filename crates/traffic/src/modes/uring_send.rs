//! `io_uring`, `io_uring_zerocopy`: one call submits a chain of sends, one request for each message
//! (io_uring_enter(2)).
//!
//! The requests of a chain are linked, so that the messages keep their order, and a call waits for
//! its whole chain. A message that was taken in part breaks the chain; its rest is sent alone.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use bitcost_sys::uring::{How, SendRing};
use rustix::io::Errno;

use super::fast::{FastMode, Moving, Place, Prepared, most_messages};
use crate::control::{Control, Phase};
use crate::loops::{Handed, Supply, is_transient, send_batches};
use crate::sequence::Tag;
use crate::syscalls::errno;

/// Most messages of one chain, and most bytes, so that a call of large messages does not outlast a
/// phase.
const MESSAGES: usize = 64;
const BYTES: usize = 8 << 20;

/// Longest wait for the last notifications after the connection's end.
const LAST_NOTIFICATIONS: Duration = Duration::from_millis(500);

struct Sender {
    ring: SendRing,
    how: How,
    most: usize,
    /// The first bytes of each message; absent for a stream.
    tag: Option<Tag>,
    supply: Supply,
}

/// Sends chains of `IORING_OP_SEND`.
pub fn copying(on: &Place) -> Prepared {
    sender(on, How::Copying)
}

/// Sends chains of `IORING_OP_SEND_ZC`.
pub fn zerocopy(on: &Place) -> Prepared {
    sender(on, How::ZeroCopy)
}

fn sender(on: &Place, how: How) -> Prepared {
    let conditions = on.conditions;
    let size = conditions.message_size_bytes as usize;
    let most = (BYTES / size).clamp(1, most_messages(conditions, MESSAGES));
    let is_datagram = conditions.workload.is_datagram();
    let slots = if is_datagram { most } else { 1 };
    let ring = SendRing::new(on.socket, how, MESSAGES as u32, slots, size, 0x5A)?;
    Ok(Box::new(Sender {
        ring,
        how,
        most,
        tag: is_datagram.then_some(on.tag),
        supply: Supply::of(conditions),
    }))
}

impl FastMode for Sender {
    fn run(&mut self, on: Moving) -> Result<(), Errno> {
        let Sender {
            ring,
            most,
            tag,
            supply,
            ..
        } = self;
        let mut number = 0;
        send_batches(
            on.control,
            *supply,
            *most as u64,
            on.pacer,
            |phase, count, length| {
                let count = count as usize;
                if let Some(tag) = tag {
                    for (slot, number) in (0..count).zip(number..) {
                        tag.write(ring.message_mut(slot), phase, number);
                    }
                }
                let handed = send_chain(ring, on.control, phase, count, length)?;
                number += handed.messages;
                Ok(handed)
            },
        )
    }

    fn ended(&mut self, _socket: BorrowedFd<'_>) {
        self.ring.take_notifications(LAST_NOTIFICATIONS);
    }

    fn counters(&self) -> BTreeMap<&'static str, u64> {
        let counts = self.ring.counts();
        let mut counters = BTreeMap::from([
            ("uring_enters", counts.enters),
            ("uring_submissions", counts.submissions),
            ("uring_completions", counts.completions),
        ]);
        if self.how == How::ZeroCopy {
            counters.extend([
                ("zerocopy_notifications_due", counts.notifications_due),
                ("zerocopy_notifications", counts.notifications),
                ("zerocopy_copied", counts.notifications_copied),
            ]);
        }
        counters
    }
}

/// Sends one chain, and the rest of a message that was taken in part.
fn send_chain(
    ring: &mut SendRing,
    control: &Control,
    phase: Phase,
    count: usize,
    length: usize,
) -> Result<Handed, Errno> {
    let mut sent = ring.send(count, 0, length).map_err(errno)?;
    let mut handed = Handed {
        messages: sent.whole as u64,
        calls: sent.enters,
        is_short: sent.partial > 0,
    };
    let mut done = sent.partial;
    while done > 0 && done < length {
        sent = ring.send(1, done, length).map_err(errno)?;
        handed.calls += sent.enters;
        done += if sent.whole == 1 {
            length - done
        } else {
            sent.partial
        };
        if let Some(error) = sent.error.take().map(errno)
            && error != Errno::INTR
        {
            return Err(error);
        }
    }
    handed.messages += u64::from(done > 0);
    match sent.error.map(errno) {
        Some(error) if handed.messages == 0 || !(is_transient(error) || error == Errno::INTR) => {
            Err(error)
        }
        Some(error) => {
            if is_transient(error) {
                control.count_failed(phase);
            }
            Ok(handed)
        }
        None => Ok(handed),
    }
}
