//! Random loss, duplication, reordering and delay: the same seed gives the same result for each
//! packet.

use bitcost_model::shaping::PPM;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// The random numbers of one direction. Each kind has a separate sequence, so that turning one on
/// does not change the others.
pub struct Chance {
    loss: ChaCha8Rng,
    duplicate: ChaCha8Rng,
    reorder: ChaCha8Rng,
    jitter: ChaCha8Rng,
}

impl Chance {
    /// Sequences from a seed; each `direction` has different ones.
    pub fn new(seed: u64, direction: u64) -> Chance {
        let stream = |kind: u64| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(direction * 4 + kind);
            random
        };
        Chance {
            loss: stream(0),
            duplicate: stream(1),
            reorder: stream(2),
            jitter: stream(3),
        }
    }

    pub fn loses(&mut self, ppm: u32) -> bool {
        happens(&mut self.loss, ppm)
    }

    pub fn duplicates(&mut self, ppm: u32) -> bool {
        happens(&mut self.duplicate, ppm)
    }

    pub fn reorders(&mut self, ppm: u32) -> bool {
        happens(&mut self.reorder, ppm)
    }

    /// A delay in ns, uniform between `mean - spread` and `mean + spread`, but not below 0.
    pub fn delay_ns(&mut self, mean_ns: u64, spread_ns: u64) -> u64 {
        if spread_ns == 0 {
            return mean_ns;
        }
        let drawn = (u128::from(self.jitter.next_u64()) * (2 * u128::from(spread_ns))) >> 64;
        (mean_ns + drawn as u64).saturating_sub(spread_ns)
    }
}

/// One draw of 32 bits, as in netem, for a probability in millionths; none if that is 0.
fn happens(random: &mut ChaCha8Rng, ppm: u32) -> bool {
    let bound = ((u64::from(ppm) << 32) + u64::from(PPM) / 2) / u64::from(PPM);
    bound > 0 && u64::from(random.next_u32()) < bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_is_within_its_spread() {
        let mut chance = Chance::new(1, 0);
        let delays: Vec<u64> = (0..1000).map(|_| chance.delay_ns(100, 30)).collect();
        assert!(delays.iter().all(|delay| (70..130).contains(delay)));
        assert!(delays.contains(&70) && delays.contains(&129));
        assert_eq!(chance.delay_ns(5, 0), 5);
    }
}
