//! Memory of the packets that the line holds, used again and again.

/// Sizes of what is used again: a segment of MTU 1500, one of MTU 9000, and a super-packet.
const SIZES: [usize; 3] = [2048, 10_240, sys::packet::PACKET_MAX_BYTES];

/// The most that is kept of each size while nobody uses it, in bytes.
const KEPT_BYTES: usize = 16 << 20;

/// Free memory.
#[derive(Default)]
pub struct Pool {
    free: [Vec<Vec<u8>>; 3],
}

impl Pool {
    /// A copy of `packet`.
    pub fn copy(&mut self, packet: &[u8]) -> Vec<u8> {
        let class = SIZES.iter().position(|size| packet.len() <= *size);
        let mut memory = class
            .and_then(|class| self.free[class].pop())
            .unwrap_or_else(|| Vec::with_capacity(class.map_or(packet.len(), |class| SIZES[class])));
        memory.extend_from_slice(packet);
        memory
    }

    /// Takes memory back.
    pub fn give_back(&mut self, mut memory: Vec<u8>) {
        memory.clear();
        let class = SIZES.iter().position(|size| memory.capacity() == *size);
        if let Some(class) = class.filter(|class| self.free[*class].len() * SIZES[*class] < KEPT_BYTES) {
            self.free[class].push(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_by_size() {
        let mut pool = Pool::default();
        let first = pool.copy(&[1; 100]);
        let place = first.as_ptr();
        assert_eq!(first, [1; 100]);
        pool.give_back(first);
        let other = pool.copy(&[2; 5000]);
        assert_ne!(other.as_ptr(), place);
        let again = pool.copy(&[3; 200]);
        assert_eq!((again.as_ptr(), again), (place, vec![3; 200]));
    }
}
