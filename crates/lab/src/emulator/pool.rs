//! Reused memory of the packets that the emulator holds.
//!
//! An emulator holds the product of rate and delay, which can exceed the caches of a CPU. So
//! packets are close together, and the slot that was freed last is used first.

use bitcost_sys::packet::PACKET_MAX_BYTES;

/// Lengths of slots: an acknowledgement, a segment of MTU 1500, one of MTU 9000, and a
/// super-packet.
const SIZES: [usize; 4] = [128, 1536, 9088, PACKET_MAX_BYTES.next_multiple_of(64)];

/// Length of a line of the CPU's caches.
const LINE_BYTES: usize = 64;

/// Memory that is allocated at once, in bytes. The kernel gives its pages when they are first
/// written.
const CHUNK_BYTES: usize = 16 << 20;

#[derive(Debug, PartialEq, Eq)]
pub struct Slot {
    size: u8,
    number: u32,
    bytes: u32,
}

/// Memory for packets. Freed memory is kept for reuse.
#[derive(Default)]
pub struct Pool {
    sizes: [Slots; SIZES.len()],
}

#[derive(Default)]
struct Slots {
    chunks: Vec<Box<[u8]>>,
    free: Vec<u32>,
    used: u32,
}

impl Pool {
    /// A copy of `packet`, truncated to [`PACKET_MAX_BYTES`]; the rings give no longer packet.
    pub fn copy(&mut self, packet: &[u8]) -> Slot {
        let packet = &packet[..packet.len().min(PACKET_MAX_BYTES)];
        let size = SIZES.partition_point(|bytes| *bytes < packet.len());
        let number = self.sizes[size].take(SIZES[size]);
        self.sizes[size].memory(number, SIZES[size])[..packet.len()].copy_from_slice(packet);
        Slot {
            size: size as u8,
            number,
            bytes: packet.len() as u32,
        }
    }

    pub fn packet(&self, slot: &Slot) -> &[u8] {
        let (chunk, begin) = place(slot.number, SIZES[usize::from(slot.size)]);
        &self.sizes[usize::from(slot.size)].chunks[chunk][begin..][..slot.bytes as usize]
    }

    /// Prefetches a packet into the CPU's caches. Done for many packets in a row, the loads
    /// overlap, instead of waiting for each when it is sent.
    pub fn fetch(&self, slot: &Slot) {
        let lines = self.packet(slot).iter().step_by(LINE_BYTES);
        std::hint::black_box(lines.fold(0, |all, byte| all ^ byte));
    }

    pub fn give_back(&mut self, slot: Slot) {
        self.sizes[usize::from(slot.size)].free.push(slot.number);
    }
}

impl Slots {
    fn take(&mut self, slot_bytes: usize) -> u32 {
        if let Some(number) = self.free.pop() {
            return number;
        }
        if place(self.used, slot_bytes).0 == self.chunks.len() {
            self.chunks.push(vec![0; CHUNK_BYTES].into_boxed_slice());
        }
        self.used += 1;
        self.used - 1
    }

    fn memory(&mut self, number: u32, slot_bytes: usize) -> &mut [u8] {
        let (chunk, begin) = place(number, slot_bytes);
        &mut self.chunks[chunk][begin..][..slot_bytes]
    }
}

fn place(number: u32, slot_bytes: usize) -> (usize, usize) {
    let per_chunk = CHUNK_BYTES / slot_bytes;
    (
        number as usize / per_chunk,
        number as usize % per_chunk * slot_bytes,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reused_by_size() {
        let mut pool = Pool::default();
        let first = pool.copy(&[1; 1000]);
        assert_eq!(pool.packet(&first), [1; 1000]);
        let kept = Slot { ..first };
        pool.give_back(first);
        let other = pool.copy(&[2; 5000]);
        assert_eq!(pool.packet(&other), [2; 5000]);
        let again = pool.copy(&[3; 1200]);
        assert_eq!((again.size, again.number), (kept.size, kept.number));
        assert_eq!(pool.packet(&again), [3; 1200]);
    }

    #[test]
    fn packets_beyond_a_chunk_do_not_overlap() {
        let mut pool = Pool::default();
        let per_chunk = CHUNK_BYTES / SIZES[3];
        let slots: Vec<Slot> = (0..per_chunk + 2)
            .map(|at| pool.copy(&vec![at as u8; PACKET_MAX_BYTES]))
            .collect();
        assert_eq!(pool.sizes[3].chunks.len(), 2);
        for (at, slot) in slots.iter().enumerate() {
            assert!(
                pool.packet(slot).iter().all(|byte| *byte == at as u8),
                "{at}"
            );
        }
    }
}
