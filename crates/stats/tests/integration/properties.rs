//! Properties for any numbers: intervals contain their estimate, cover the true value, and do not depend on order.

use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

fn uniform(generator: &mut ChaCha8Rng) -> f64 {
    (generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A standard normal number as the sum of twelve uniform ones (Irwin-Hall).
fn normal(generator: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| uniform(generator)).sum::<f64>() - 6.0
}

#[test]
fn the_median_lies_in_its_interval_about_95_times_in_100() {
    let mut generator = ChaCha8Rng::seed_from_u64(2026);
    let trials = 250;
    let covered = (0..trials).filter(|trial| {
        let values: Vec<f64> = (0..20).map(|_| normal(&mut generator)).collect();
        let interval = bitcost_stats::median_interval(&values, *trial).unwrap();
        interval.low.unwrap() <= 0.0 && 0.0 <= interval.high.unwrap()
    });
    let share = covered.count() as f64 / trials as f64;
    assert!((0.90..=0.99).contains(&share), "{share}");
}

#[test]
fn the_ratio_lies_in_its_interval_about_95_times_in_100() {
    let mut generator = ChaCha8Rng::seed_from_u64(4052);
    let trials = 250;
    let covered = (0..trials).filter(|trial| {
        let mut side = |middle: f64| -> Vec<(u32, f64)> {
            (0..20)
                .map(|block| (block, middle + normal(&mut generator)))
                .collect()
        };
        let interval = bitcost_stats::ratio_interval(&side(30.0), &side(20.0), *trial).unwrap();
        interval.low.unwrap() <= 1.5 && 1.5 <= interval.high.unwrap()
    });
    let share = covered.count() as f64 / trials as f64;
    assert!((0.90..=0.99).contains(&share), "{share}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_the_values_does_not_matter(
        values in prop::collection::vec((0..8u32, 1.0..1e6f64), 2..30),
        others in prop::collection::vec((0..8u32, 1.0..1e6f64), 2..30),
        seed: u64,
    ) {
        let mut turned = values.clone();
        turned.reverse();
        let plain = |side: &[(u32, f64)]| -> Vec<f64> { side.iter().map(|(_, value)| *value).collect() };
        let once = bitcost_stats::median_interval(&plain(&values), seed);
        prop_assert_eq!(once, bitcost_stats::median_interval(&plain(&turned), seed));
        let ratio = bitcost_stats::ratio_interval(&values, &others, seed);
        prop_assert_eq!(ratio, bitcost_stats::ratio_interval(&turned, &others, seed));
    }
}
