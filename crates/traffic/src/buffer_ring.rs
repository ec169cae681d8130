//! The buffers that the plain calls of a flow use in turn: their number, their alignment, rewritten
//! for each message or not.

use bitcost_model::buffers::Buffers;

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
}

impl BufferRing {
    /// Buffers for messages of up to `size` bytes.
    pub fn of_sender(size: u32, buffers: Buffers) -> BufferRing {
        BufferRing::of(size, buffers, buffers.dirty.then_some(0))
    }

    /// Buffers for receive calls of `size` bytes.
    pub fn of_receiver(size: u32, buffers: Buffers) -> BufferRing {
        BufferRing::of(size, buffers, None)
    }

    fn of(size: u32, buffers: Buffers, dirt: Option<u8>) -> BufferRing {
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
            dirt,
        }
    }

    /// The only buffer, of a ring of one whose messages are not rewritten; otherwise absent.
    pub fn only(&self) -> Option<&[u8]> {
        (self.count == 1 && self.dirt.is_none()).then(|| self.present())
    }

    /// The present buffer.
    #[inline]
    pub fn present(&self) -> &[u8] {
        let start = self.first + self.at * self.step;
        &self.memory[start..start + self.size]
    }

    /// The next buffer, with its first `length` bytes rewritten where the run requests it.
    #[inline]
    pub fn next(&mut self, length: usize) -> &mut [u8] {
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
            dirty: false,
        };
        let mut ring = BufferRing::of_receiver(5000, buffers);
        let addresses: Vec<usize> = (0..6).map(|_| ring.next(0).as_ptr().addr()).collect();
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
