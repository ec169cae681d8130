//! Optional stopping: the loss of coverage when the interval's width is checked after every run.

// What a test prints is read by its harness.
#![allow(clippy::disallowed_macros)]

use bitcost_stats::median_interval;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// How experiments with a stop rule ended.
#[derive(Debug, Default)]
struct Ended {
    covered: u32,
    runs: usize,
    reached: u32,
}

/// Values around a median of 100, drawn by `draw` from two uniform numbers; stopped by the rule, or at `most`.
fn simulate(
    draw: fn(f64, f64) -> f64,
    width_pct: f64,
    least: usize,
    most: usize,
    experiments: u64,
) -> Ended {
    let mut ended = Ended::default();
    for seed in 0..experiments {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        let mut uniform = || (generator.next_u32() as f64 + 0.5) / f64::from(u32::MAX);
        let mut values: Vec<f64> = (1..least).map(|_| draw(uniform(), uniform())).collect();
        loop {
            values.push(draw(uniform(), uniform()));
            let interval = median_interval(&values, seed).expect("finite");
            let (low, high) = (
                interval.low.expect("several"),
                interval.high.expect("several"),
            );
            let narrow = 100.0 * (high - low) / interval.value < width_pct;
            if narrow || values.len() == most {
                ended.covered += u32::from((low..=high).contains(&100.0));
                ended.reached += u32::from(narrow);
                ended.runs += values.len();
                break;
            }
        }
    }
    ended
}

/// A standard normal number (Box and Muller).
fn normal(a: f64, b: f64) -> f64 {
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// Standard deviation of 4 %.
fn even(a: f64, b: f64) -> f64 {
    100.0 + 4.0 * normal(a, b)
}

/// Skewed: logarithms with a standard deviation of 4 %, and one run in ten disturbed, 20 % low.
fn disturbed(a: f64, b: f64) -> f64 {
    let value = 100.0 * (0.04 * normal(a, b)).exp();
    if (b * 1e6).fract() < 0.1 {
        value * 0.8
    } else {
        value
    }
}

#[test]
fn stop_rule_loses_little_coverage() {
    // The maximum number of runs, checked once.
    let once = simulate(even, 100.0, 20, 20, 100);
    let again = simulate(even, 5.0, 5, 20, 100);
    assert!(once.covered >= 88, "{once:?}");
    assert!(again.covered >= 75, "{again:?}");
}

#[test]
#[ignore = "takes minutes; docs/method/statistics.md quotes what it prints"]
fn coverage_of_the_stop_rule() {
    for (name, draw) in [
        ("normal", even as fn(f64, f64) -> f64),
        ("disturbed", disturbed),
    ] {
        for (least, width_pct) in [(3, 5.0), (5, 5.0), (10, 5.0), (3, 2.0), (5, 2.0), (5, 10.0)] {
            let ended = simulate(draw, width_pct, least, 30, 1000);
            let (covered, reached) = (
                f64::from(ended.covered) / 10.0,
                f64::from(ended.reached) / 10.0,
            );
            let runs = ended.runs as f64 / 1000.0;
            println!(
                "{name} least {least} width {width_pct} %: covered {covered} %, reached {reached} %, runs {runs}"
            );
        }
        for runs in [3, 5, 10, 20, 30] {
            let ended = simulate(draw, 1000.0, runs, runs, 1000);
            println!(
                "{name} {runs} runs, checked once: covered {} %",
                f64::from(ended.covered) / 10.0
            );
        }
    }
}
