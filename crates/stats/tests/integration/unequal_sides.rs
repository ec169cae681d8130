//! How often the interval of a change misses the true change, where sides differ in counts and in spread, and how often
//! many comparisons raise a false alarm.

// What a test prints is read by its harness.
#![allow(clippy::disallowed_macros)]

use bitcost_stats::{Scale, Sides, hold_together};
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

/// Comparisons of a CI gate: the metrics and cells of the default study.
const TOGETHER: usize = 26;

const GATES: usize = 2000;

/// How often, in per cent, a gate of that many comparisons finds one of the first `worse` changes (or, without any, raises a
/// false alarm), judged separately and together. Half of the noise of a block's metrics is common to them.
fn alarms_pct(runs: usize, worse: usize) -> [f64; 2] {
    let mut generator = ChaCha8Rng::seed_from_u64(11);
    let [mut separately, mut together] = [0; 2];
    for _ in 0..GATES {
        let common = [(); 2].map(|()| side(&mut generator, (runs, 2.0)));
        let mut chance = |place: usize| {
            let planted = if place < worse { 1.08 } else { 1.0 };
            let [old, new] = [0, 1].map(|end| -> Vec<f64> {
                let own = side(&mut generator, (runs, 2.0));
                let both = common[end].iter().zip(own);
                both.map(|(common, own)| common * own).collect()
            });
            let new: Vec<f64> = new.iter().map(|value| value * planted).collect();
            let found = Sides::of(&old, &new, Scale::Ratio)
                .expect("values")
                .change();
            found.chance.expect("bounds")
        };
        let chances: Vec<f64> = (0..TOGETHER).map(&mut chance).collect();
        let looked = if worse == 0 { TOGETHER } else { worse };
        separately += usize::from(chances[..looked].iter().any(|chance| *chance <= 0.05));
        together += usize::from(hold_together(&chances, 0.05)[..looked].contains(&true));
    }
    [separately, together].map(|count| 100.0 * count as f64 / GATES as f64)
}

#[test]
fn many_comparisons_together_raise_few_false_alarms() {
    for runs in [5, 10] {
        let [separately, together] = alarms_pct(runs, 0);
        let [_, found] = alarms_pct(runs, 2);
        println!(
            "{TOGETHER} comparisons of {runs} runs: false alarms {separately:.1} % separately, {together:.1} % together; \
             two changes of 8 % found in {found:.1} %"
        );
        assert!(separately > 20.0, "{runs} runs: {separately} %");
        assert!(together <= 5.5, "{runs} runs: {together} %");
        assert!(found >= 60.0, "{runs} runs: {found} %");
    }
}
