//! The buffers that the plain calls of a flow go through: how many, where each begins, clean or written anew.

use model::buffers::Buffers;

/// What clean messages consist of.
const FILL: u8 = 0x5A;

/// Buffers of one size, used one after the other.
pub struct Ring {
    memory: Vec<u8>,
    /// Where the first one begins.
    first: usize,
    /// From one to the next.
    step: usize,
    size: usize,
    count: usize,
    /// The present one.
    at: usize,
    /// The byte that the present message was written with.
    dirt: Option<u8>,
}

impl Ring {
    /// Buffers for messages of up to `size` bytes.
    pub fn of_sender(size: u32, buffers: Buffers) -> Ring {
        Ring::of(size, buffers, buffers.dirty.then_some(0))
    }

    /// Buffers for receive calls of `size` bytes.
    pub fn of_receiver(size: u32, buffers: Buffers) -> Ring {
        Ring::of(size, buffers, None)
    }

    fn of(size: u32, buffers: Buffers, dirt: Option<u8>) -> Ring {
        let alignment = buffers.alignment_bytes.unwrap_or(1) as usize;
        let (size, offset, count) = (size as usize, buffers.offset_bytes as usize, buffers.ring.max(1) as usize);
        let step = (offset + size).next_multiple_of(alignment);
        let memory = vec![FILL; step * count + alignment];
        let address = memory.as_ptr().addr();
        let first = address.next_multiple_of(alignment) - address + offset;
        Ring { memory, first, step, size, count, at: 0, dirt }
    }

    /// The only buffer of a ring of one whose messages nobody writes; nothing where there is more to do.
    pub fn only(&self) -> Option<&[u8]> {
        (self.count == 1 && self.dirt.is_none()).then(|| self.present())
    }

    /// The present buffer.
    #[inline]
    pub fn present(&self) -> &[u8] {
        let start = self.first + self.at * self.step;
        &self.memory[start..start + self.size]
    }

    /// The next buffer, its first `length` bytes written anew where the run asks for it.
    #[inline]
    pub fn next(&mut self, length: usize) -> &mut [u8] {
        if self.count > 1 {
            self.at = if self.at + 1 == self.count { 0 } else { self.at + 1 };
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
    fn buffers_begin_where_they_were_asked_to() {
        let buffers = Buffers { alignment_bytes: Some(4096), offset_bytes: 24, ring: 3, dirty: false };
        let mut ring = Ring::of_receiver(5000, buffers);
        let addresses: Vec<usize> = (0..6).map(|_| ring.next(0).as_ptr().addr()).collect();
        assert!(addresses.iter().all(|address| address % 4096 == 24), "{addresses:x?}");
        assert_eq!(addresses[..3], addresses[3..]);
        let mut distinct = addresses.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 3);
        assert!(distinct.windows(2).all(|pair| pair[1] - pair[0] >= 5000), "they do not overlap");
    }

    #[test]
    fn a_dirty_message_is_another_one_each_time() {
        let mut ring = Ring::of_sender(64, Buffers { dirty: true, ..Buffers::default() });
        assert_eq!(ring.next(64), [1; 64]);
        assert_eq!(ring.next(10)[..12], [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1]);
        assert!(ring.only().is_none());
        assert_eq!(Ring::of_sender(4, Buffers::default()).only(), Some(&[FILL; 4][..]));
    }
}
