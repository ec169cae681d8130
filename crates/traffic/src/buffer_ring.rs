//! The buffers that the plain calls of a flow use in turn: their number, their alignment, rewritten
//! for each message or not, and the program's work on each message.

use bitcost_model::buffers::Buffers;

use crate::work::Work;

/// The byte of messages that are not rewritten.
const FILL: u8 = 0x5A;

/// Buffers of one size, used one after the other.
pub struct BufferRing {
    memory: Vec<u8>,
    /// Offset of the first buffer.
    first: usize,
    /// Distance from one buffer to the next.
    step: usize,
    size: usize,
    count: usize,
    /// Index of the present buffer.
    at: usize,
    /// The byte that the present message was filled with; absent where messages are not rewritten.
    dirt: Option<u8>,
    /// The program's work on each message; absent where it does none.
    work: Option<Work>,
    /// Bytes of a received message on which the program has not worked yet.
    rest: usize,
    /// Bytes of a message that is received.
    message: usize,
}

impl BufferRing {
    /// Buffers for messages of up to `size` bytes.
    pub fn of_sender(size: u32, buffers: Buffers) -> BufferRing {
        BufferRing {
            dirt: buffers.dirty.then_some(0),
            work: Work::of(buffers.send_work_ns),
            ..BufferRing::of(size, buffers)
        }
    }

    /// Buffers for receive calls of `size` bytes, which return messages of `message` bytes.
    pub fn of_receiver(size: u32, message: u32, buffers: Buffers) -> BufferRing {
        BufferRing {
            work: Work::of(buffers.receive_work_ns),
            message: message.max(1) as usize,
            ..BufferRing::of(size, buffers)
        }
    }

    fn of(size: u32, buffers: Buffers) -> BufferRing {
        let alignment = buffers.alignment_bytes.unwrap_or(1) as usize;
        let (size, offset, count) = (
            size as usize,
            buffers.offset_bytes as usize,
            buffers.ring.max(1) as usize,
        );
        let step = (offset + size).next_multiple_of(alignment);
        let memory = vec![FILL; step * count + alignment];
        let address = memory.as_ptr().addr();
        let first = address.next_multiple_of(alignment) - address + offset;
        BufferRing {
            memory,
            first,
            step,
            size,
            count,
            at: 0,
            dirt: None,
            work: None,
            rest: 0,
            message: 1,
        }
    }

    /// The only buffer, of a ring of one on whose messages the program does nothing; otherwise absent.
    pub fn only(&self) -> Option<&[u8]> {
        let is_plain = self.count == 1 && self.dirt.is_none() && self.work.is_none();
        is_plain.then(|| self.present())
    }

    /// The present buffer.
    #[inline]
    pub fn present(&self) -> &[u8] {
        let start = self.first + self.at * self.step;
        &self.memory[start..start + self.size]
    }

    /// The buffer of the next message to send, with its first `length` bytes rewritten and worked on
    /// where the run requests it.
    #[inline]
    pub fn next(&mut self, length: usize) -> &mut [u8] {
        if let Some(work) = &self.work {
            work.on_messages(1);
        }
        self.next_to_fill(length)
    }

    /// Works on the messages that a receive call of this many bytes has completed, where the run
    /// requests it.
    #[inline]
    pub fn took(&mut self, bytes: usize) {
        if let Some(work) = &self.work {
            let bytes = self.rest + bytes;
            self.rest = bytes % self.message;
            work.on_messages(bytes / self.message);
        }
    }

    /// The buffer of the next receive call.
    #[inline]
    pub fn next_to_receive(&mut self) -> &mut [u8] {
        self.next_to_fill(0)
    }

    #[inline]
    fn next_to_fill(&mut self, length: usize) -> &mut [u8] {
        if self.count > 1 {
            self.at = if self.at + 1 == self.count {
                0
            } else {
                self.at + 1
            };
        }
        let start = self.first + self.at * self.step;
        let buffer = &mut self.memory[start..start + self.size];
        if let Some(dirt) = &mut self.dirt {
            *dirt = dirt.wrapping_add(1);
            buffer[..length].fill(*dirt);
        }
        buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_have_the_requested_alignment_and_offset() {
        let buffers = Buffers {
            alignment_bytes: Some(4096),
            offset_bytes: 24,
            ring: 3,
            ..Buffers::default()
        };
        let mut ring = BufferRing::of_receiver(5000, 5000, buffers);
        let addresses: Vec<usize> = (0..6)
            .map(|_| ring.next_to_receive().as_ptr().addr())
            .collect();
        assert!(
            addresses.iter().all(|address| address % 4096 == 24),
            "{addresses:x?}"
        );
        assert_eq!(addresses[..3], addresses[3..]);
        let mut distinct = addresses.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 3);
        assert!(
            distinct.windows(2).all(|pair| pair[1] - pair[0] >= 5000),
            "they do not overlap"
        );
    }

    #[test]
    fn dirty_messages_differ() {
        let mut ring = BufferRing::of_sender(
            64,
            Buffers {
                dirty: true,
                ..Buffers::default()
            },
        );
        assert_eq!(ring.next(64), [1; 64]);
        assert_eq!(ring.next(10)[..12], [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1]);
        assert!(ring.only().is_none());
        assert_eq!(
            BufferRing::of_sender(4, Buffers::default()).only(),
            Some(&[FILL; 4][..])
        );
    }
}
