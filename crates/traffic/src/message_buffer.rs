//! The buffer of a flow's plain calls, rewritten for each message or not, and the program's work on
//! each message.
//!
//! The receiver of a paced flow works when it has received a burst, or, where it does not know how
//! long they are, everything that is there, before it waits for more. So the work fills time in
//! which it would wait, and does not change when packets are sent, received and acknowledged.

use bitcost_model::conditions::Conditions;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::work::Work;

/// The most messages of a paced flow on which the receiver works at once where it does not know how
/// long bursts are.
const BATCH: usize = 64;

/// The byte of messages that are not rewritten.
const FILL: u8 = 0x5A;

pub struct MessageBuffer {
    memory: Vec<u8>,
    /// The byte that the present message was filled with; absent where messages are not rewritten.
    dirt: Option<u8>,
    work: Option<Work>,
    message: usize,
    /// Bytes of the last message that were received, if it is not complete.
    rest: usize,
    /// Received messages on which the program has not worked yet.
    owed: usize,
    batch: usize,
    /// Whether it works on fewer before it waits for more.
    works_before_waiting: bool,
}

impl MessageBuffer {
    pub fn of_sender(conditions: &Conditions) -> MessageBuffer {
        MessageBuffer {
            dirt: conditions.buffers.dirty.then_some(0),
            work: Work::of_unpaced_sender(conditions),
            ..MessageBuffer::of(conditions.message_size_bytes)
        }
    }

    pub fn of_receiver(conditions: &Conditions) -> MessageBuffer {
        let (batch, works_before_waiting) = match (conditions.is_paced(), conditions.burst_messages)
        {
            (false, _) => (1, false),
            (true, Some(messages)) => (messages.max(1) as usize, false),
            (true, None) => (BATCH, true),
        };
        MessageBuffer {
            work: Work::of(conditions.buffers.receive_work_ns),
            message: conditions.message_size_bytes.max(1) as usize,
            batch,
            works_before_waiting,
            ..MessageBuffer::of(conditions.receive_bytes())
        }
    }

    fn of(size: u32) -> MessageBuffer {
        MessageBuffer {
            memory: vec![FILL; size as usize],
            dirt: None,
            work: None,
            message: 1,
            rest: 0,
            owed: 0,
            batch: 1,
            works_before_waiting: false,
        }
    }

    #[inline]
    pub fn present(&self) -> &[u8] {
        &self.memory
    }

    /// The buffer for the next message to send, with its first `length` bytes rewritten and worked on
    /// where the run requests it.
    #[inline]
    pub fn next(&mut self, length: usize) -> &mut [u8] {
        if let Some(work) = &mut self.work {
            work.on_messages(1);
        }
        self.next_to_fill(length)
    }

    /// Makes a receive call with the buffer. Where work that is left is done before waiting, the
    /// call does not wait; if it finds nothing, the work is done.
    #[inline]
    pub fn receive<T>(
        &mut self,
        flags: RecvFlags,
        call: impl FnOnce(&mut [u8], RecvFlags) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        if self.owed == 0 || !self.works_before_waiting {
            return call(self.next_to_fill(0), flags);
        }
        let received = call(self.next_to_fill(0), flags | RecvFlags::DONTWAIT);
        if matches!(received, Err(Errno::AGAIN)) {
            self.work_on(self.owed);
        }
        received
    }

    /// Records the messages that a receive call of this many bytes has completed, to work on them
    /// where the run requests it.
    #[inline]
    pub fn took(&mut self, bytes: usize) {
        if self.work.is_none() {
            return;
        }
        let bytes = self.rest + bytes;
        self.rest = bytes % self.message;
        self.owed += bytes / self.message;
        if self.owed >= self.batch {
            self.work_on(self.owed - self.owed % self.batch);
        }
    }

    fn work_on(&mut self, messages: usize) {
        if let Some(work) = &mut self.work {
            work.on_messages(messages as u64);
        }
        self.owed -= messages;
    }

    #[inline]
    fn next_to_fill(&mut self, length: usize) -> &mut [u8] {
        if let Some(dirt) = &mut self.dirt {
            *dirt = dirt.wrapping_add(1);
            self.memory[..length].fill(*dirt);
        }
        &mut self.memory
    }
}

#[cfg(test)]
mod tests {
    use bitcost_model::buffers::Buffers;

    use super::*;

    #[test]
    fn dirty_messages_differ() {
        let buffer = |message_size_bytes, dirty| {
            MessageBuffer::of_sender(&Conditions {
                message_size_bytes,
                buffers: Buffers {
                    dirty,
                    ..Buffers::default()
                },
                ..Conditions::default()
            })
        };
        let mut ring = buffer(64, true);
        assert_eq!(ring.next(64), [1; 64]);
        assert_eq!(ring.next(10)[..12], [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1]);
        assert_eq!(buffer(4, false).present(), [FILL; 4]);
    }

    /// The receiver of paced messages of 100 bytes that works on each.
    fn working(burst_messages: Option<u32>) -> MessageBuffer {
        MessageBuffer::of_receiver(&Conditions {
            message_size_bytes: 100,
            message_rate: Some(1000),
            burst_messages,
            buffers: Buffers {
                receive_work_ns: 1,
                ..Buffers::default()
            },
            ..Conditions::default()
        })
    }

    /// Whether a receive call waits.
    fn waits(ring: &mut MessageBuffer, received: Result<usize, Errno>) -> bool {
        let mut waits = false;
        let _ = ring.receive(RecvFlags::empty(), |_, flags| {
            waits = !flags.contains(RecvFlags::DONTWAIT);
            received
        });
        waits
    }

    #[test]
    fn a_paced_receiver_works_when_nothing_is_left_to_receive() {
        let mut ring = working(None);
        assert!(waits(&mut ring, Ok(150)));
        ring.took(150);
        assert!(!waits(&mut ring, Ok(50)), "a message is owed");
        ring.took(50);
        assert!(!waits(&mut ring, Err(Errno::AGAIN)), "another one");
        assert!(waits(&mut ring, Ok(40)), "all work is done");
        ring.took(40);
        assert!(waits(&mut ring, Ok(0)), "no message is complete");
        ring.took(BATCH * 100);
        assert!(waits(&mut ring, Ok(0)), "more may not be owed");
    }

    #[test]
    fn a_receiver_works_on_whole_bursts() {
        let mut ring = working(Some(3));
        for (messages, owed) in [(2, 2), (1, 0), (4, 1), (1, 2), (8, 1)] {
            assert!(waits(&mut ring, Ok(messages * 100)));
            ring.took(messages * 100);
            assert_eq!(ring.owed, owed);
        }
    }
}
