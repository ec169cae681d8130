//! How often the interval of a change misses the true change, where sides differ in counts and in spread.

// What a test prints is read by its harness.
#![allow(clippy::disallowed_macros)]

use bitcost_stats::{Scale, Sides};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Comparisons that are simulated for each pair of sides.
const DRAWN: usize = 1000;

/// Values with a median of 100 and a spread in per cent (Box and Muller).
fn side(generator: &mut ChaCha8Rng, (count, spread_pct): (usize, f64)) -> Vec<f64> {
    let mut uniform = || (f64::from(generator.next_u32()) + 0.5) / 2_f64.powi(32);
    let mut value = || {
        let (a, b) = (uniform(), uniform());
        100.0
            * (spread_pct / 100.0 * (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos())
                .exp()
    };
    (0..count).map(|_| value()).collect()
}

fn missed_pct(old: (usize, f64), new: (usize, f64)) -> f64 {
    let mut generator = ChaCha8Rng::seed_from_u64(7);
    let is_missed = |_: &usize| {
        let (old, new) = (side(&mut generator, old), side(&mut generator, new));
        let found = Sides::of(&old, &new, Scale::Ratio)
            .expect("values")
            .change()
            .interval;
        !(found.low.expect("bounds")..=found.high.expect("bounds")).contains(&1.0)
    };
    100.0 * (0..DRAWN).filter(is_missed).count() as f64 / DRAWN as f64
}

#[test]
fn change_interval_covers_unequal_counts_and_spreads() {
    let twice = [
        ((20, 2.0), (5, 4.0)),
        ((5, 2.0), (4, 4.0)),
        ((10, 2.0), (8, 4.0)),
        ((10, 2.0), (10, 4.0)),
        ((5, 2.0), (5, 4.0)),
    ];
    let five_times = [
        ((20, 1.0), (3, 5.0)),
        ((3, 1.0), (20, 5.0)),
        ((50, 1.0), (8, 5.0)),
        ((16, 1.0), (8, 5.0)),
        ((5, 1.0), (5, 5.0)),
        ((10, 1.0), (10, 5.0)),
        ((60, 1.0), (50, 5.0)),
    ];
    for (most, sides) in [(7.5, &twice[..]), (10.0, &five_times[..])] {
        for (old, new) in sides {
            let missed = missed_pct(*old, *new);
            println!("{old:?} against {new:?}: {missed:.1} % missed");
            assert!(missed <= most, "{old:?} against {new:?}: {missed} %");
        }
    }
}
