//! What happens to a packet by chance: the same seed gives the same fates, packet by packet.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// Chances of one direction. Each kind draws from a sequence of its own, so that turning one on leaves the others
/// as they were.
pub struct Chance {
    loss: ChaCha8Rng,
    duplicate: ChaCha8Rng,
    reorder: ChaCha8Rng,
    jitter: ChaCha8Rng,
}

impl Chance {
    /// Chances from a seed; each `direction` of it is another sequence.
    pub fn new(seed: u64, direction: u64) -> Chance {
        let stream = |kind: u64| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(direction * 4 + kind);
            random
        };
        Chance { loss: stream(0), duplicate: stream(1), reorder: stream(2), jitter: stream(3) }
    }

    /// Whether the next packet is lost.
    pub fn loses(&mut self, probability: f64) -> bool {
        happens(&mut self.loss, probability)
    }

    /// Whether the next packet comes twice.
    pub fn duplicates(&mut self, probability: f64) -> bool {
        happens(&mut self.duplicate, probability)
    }

    /// Whether the next packet passes at once.
    pub fn reorders(&mut self, probability: f64) -> bool {
        happens(&mut self.reorder, probability)
    }

    /// A delay that is even between `mean - spread` and `mean + spread`, but not below 0.
    pub fn delay_ns(&mut self, mean_ns: u64, spread_ns: u64) -> u64 {
        if spread_ns == 0 {
            return mean_ns;
        }
        let drawn = (u128::from(self.jitter.next_u64()) * (2 * u128::from(spread_ns))) >> 64;
        (mean_ns + drawn as u64).saturating_sub(spread_ns)
    }
}

/// One draw of 32 bits, as netem's; none where nothing can happen.
fn happens(random: &mut ChaCha8Rng, probability: f64) -> bool {
    let bound = (probability * (1u64 << 32) as f64).round();
    bound > 0.0 && f64::from(random.next_u32()) < bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_direction_give_one_sequence() {
        let fates = |seed, direction| {
            let mut chance = Chance::new(seed, direction);
            (0..1000).map(|_| chance.loses(0.3)).collect::<Vec<_>>()
        };
        assert_eq!(fates(7, 0), fates(7, 0));
        assert_ne!(fates(7, 0), fates(7, 1));
        assert_ne!(fates(7, 0), fates(8, 0));
    }

    #[test]
    fn never_and_always_are_that() {
        let mut chance = Chance::new(1, 0);
        assert!((0..1000).all(|_| !chance.loses(0.0) && chance.loses(1.0)));
    }

    /// 400 seeds of 20 000 packets at 1 %: the mean lies within 4 standard errors of the binomial distribution, the
    /// variance within 4 of its own.
    #[test]
    fn losses_of_many_seeds_have_neither_bias_nor_another_spread() {
        let (seeds, packets, probability) = (400_u64, 20_000_u32, 0.01);
        let lost = |seed| {
            let mut chance = Chance::new(seed, 0);
            f64::from((0..packets).map(|_| u32::from(chance.loses(probability))).sum::<u32>())
        };
        let counts: Vec<f64> = (0..seeds).map(lost).collect();
        let (n, mean) = (seeds as f64, f64::from(packets) * probability);
        let variance = mean * (1.0 - probability);
        let found = counts.iter().sum::<f64>() / n;
        assert!((found - mean).abs() <= 4.0 * (variance / n).sqrt(), "{found}");
        let spread = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / n;
        assert!((spread / variance - 1.0).abs() <= 4.0 * (2.0 / n).sqrt(), "{spread}");
    }

    #[test]
    fn a_delay_lies_around_its_mean() {
        let mut chance = Chance::new(1, 0);
        let delays: Vec<u64> = (0..1000).map(|_| chance.delay_ns(100, 30)).collect();
        assert!(delays.iter().all(|delay| (70..130).contains(delay)));
        assert!(delays.contains(&70) && delays.contains(&129));
        assert_eq!(chance.delay_ns(5, 0), 5);
    }
}
