//! `writev`: many messages in one call.

use std::io::IoSlice;

use rustix::io::{Errno, writev};
use rustix::net::{SendFlags, send};

use super::mover::{self, Place, Prepared, most_messages};
use crate::control::Phase;
use crate::loops::{Handed, Supply, send_batches};

/// Most messages of one call, and most bytes, so that a call of large messages does not outlast a
/// phase.
const MESSAGES: usize = 64;
const BYTES: usize = 8 << 20;

pub fn sender(on: &Place) -> Prepared {
    let message = vec![0x5A; on.conditions.message_size_bytes as usize];
    let most = (BYTES / message.len()).clamp(1, most_messages(on.conditions, MESSAGES));
    let supply = Supply::of(on.conditions);
    mover::sender(move |on| {
        let (message, socket) = (&message[..], on.socket);
        let list = vec![IoSlice::new(message); most];
        send_batches(
            on.control,
            supply,
            most as u64,
            on.pacer,
            |_, count, length| {
                let sent = if length == message.len() {
                    writev(socket, &list[..count as usize])?
                } else {
                    send(socket, &message[..length], SendFlags::NOSIGNAL)?
                };
                let mut handed = Handed::at_once((sent / length) as u64);
                handed.is_short = sent < count as usize * length;
                let mut done = sent % length;
                while done > 0 && done < length {
                    match send(socket, &message[done..length], SendFlags::NOSIGNAL) {
                        Ok(bytes) => (handed.calls, done) = (handed.calls + 1, done + bytes),
                        Err(Errno::INTR) => {}
                        // What was sent before the end counts.
                        Err(_) if on.control.phase() == Phase::Abort => break,
                        Err(error) => return Err(error),
                    }
                }
                handed.messages += u64::from(done > 0);
                Ok(handed)
            },
        )
    })
}
