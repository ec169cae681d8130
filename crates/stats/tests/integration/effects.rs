//! How often the change between executions is found, of simulated executions with known differences.

use bitcost_stats::{Effects, Sides, effects};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

const CELLS: usize = 8;

/// A throughput: a slower machine makes it less.
const PRIOR: (f64, f64) = (-0.5, 0.5);

/// Normal noise.
struct Noise(ChaCha8Rng);

impl Noise {
    fn uniform(&mut self) -> f64 {
        (f64::from(self.0.next_u32()) + 0.5) / f64::from(u32::MAX)
    }

    /// Box and Muller 1958.
    fn normal(&mut self, deviation: f64) -> f64 {
        let (a, b) = (self.uniform(), self.uniform());
        deviation * (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

/// What differs between two sides, each of some executions of five runs.
struct Planted {
    executions: usize,
    change: f64,
    slower: f64,
    /// Standard deviations between executions, and between runs.
    between: f64,
    within: f64,
}

impl Planted {
    fn found(&self, noise: &mut Noise) -> Effects {
        let mut cells: Vec<Sides> = vec![[Vec::new(), Vec::new()]; CELLS];
        for side in [0, 1] {
            for _ in 0..self.executions {
                let slower = noise.normal(0.02) + self.slower * side as f64;
                for cell in &mut cells {
                    let place = noise.normal(self.between) + self.change * side as f64;
                    let mut run = || {
                        let speed = slower + noise.normal(0.01);
                        (speed, place - speed + noise.normal(self.within))
                    };
                    cell[side].push((0..5).map(|_| run()).collect());
                }
            }
        }
        effects(&cells, PRIOR, 0.0)
    }

    /// The share of the cells whose interval leaves out no change, and the median change, of many simulations.
    fn share(&self) -> (f64, f64) {
        const SIMULATIONS: u64 = 100;
        let mut changes = Vec::new();
        let mut clear = 0;
        for seed in 0..SIMULATIONS {
            let found = self.found(&mut Noise(ChaCha8Rng::seed_from_u64(seed)));
            for cell in found.cells {
                let cell = cell.expect("both sides have runs").estimate;
                clear += u32::from(cell.chance.is_some_and(|chance| chance < 0.05));
                changes.push(cell.interval.value);
            }
        }
        let share = f64::from(clear) / changes.len() as f64;
        (share, bitcost_stats::median(&changes).unwrap())
    }
}

#[test]
fn executions_without_a_change_are_rarely_called_different() {
    for executions in [1, 3] {
        for slower in [0.0, 0.08] {
            let planted = Planted {
                executions,
                change: 0.0,
                slower,
                between: 0.015,
                within: 0.03,
            };
            let (share, median) = planted.share();
            assert!(share < 0.08, "{executions} {slower}: {share}");
            assert!(
                (median - 1.0).abs() < 0.02,
                "{executions} {slower}: {median}"
            );
        }
    }
}

#[test]
fn more_executions_find_a_smaller_change() {
    let of = |executions| {
        let planted = Planted {
            executions,
            change: -0.1,
            slower: 0.0,
            between: 0.015,
            within: 0.02,
        };
        planted.share()
    };
    let ((one, _), (three, median)) = (of(1), of(3));
    assert!(one > 0.5 && three > 0.95, "{one} {three}");
    assert!((median - (-0.1_f64).exp()).abs() < 0.01, "{median}");
}

#[test]
fn a_difference_between_executions_that_is_measured_replaces_the_assumption() {
    let planted = Planted {
        executions: 6,
        change: 0.0,
        slower: 0.0,
        between: 0.1,
        within: 0.01,
    };
    let (share, _) = planted.share();
    assert!(share < 0.08, "{share}");
}

#[test]
fn what_the_speed_explains_is_no_change() {
    let runs = |slower: f64| -> Vec<(f64, f64)> {
        (0..5)
            .map(|run| {
                let speed = slower + 0.01 * f64::from(run);
                (speed, 8.0 - speed)
            })
            .collect()
    };
    let found = effects(&vec![[vec![runs(0.0)], vec![runs(0.1)]]; 3], PRIOR, 0.0);
    for effect in found.cells.into_iter().flatten().chain(found.common) {
        assert!(
            (effect.estimate.interval.value - 1.0).abs() < 0.01,
            "{effect:?}"
        );
        assert!((effect.explained.ln() + 0.1).abs() < 0.01, "{effect:?}");
    }
}

#[test]
fn one_run_on_each_side_has_no_interval() {
    let found = effects(
        &[[vec![vec![(0.0, 1.0)]], vec![vec![(0.0, 1.1)]]]],
        PRIOR,
        0.0,
    );
    let effect = found.cells[0].expect("a change");
    assert_eq!(
        (effect.estimate.interval.low, effect.estimate.chance),
        (None, None)
    );
    let nothing = effects(&[[vec![vec![(0.0, 1.0)]], vec![]]], PRIOR, 0.0);
    assert_eq!(nothing.cells, [None]);
    assert_eq!(nothing.common, None);
}
