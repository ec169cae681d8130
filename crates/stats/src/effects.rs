//! The change between two sides of several executions, each of which is a random effect, with a covariate of every run.
//!
//! The logarithm of a run's value is side + execution + slope × logarithm of its covariate + noise. Repeating runs within
//! an execution says nothing of what differs between executions, so the error has a part of each level (Kalibera and
//! Jones, "Rigorous benchmarking in reasonable time", ISMM 2013). The variance between executions is pooled over all
//! cells and moderated by an assumption (Smyth 2004, "Linear models and empirical Bayes methods", section 3): with one
//! execution on each side the assumption is all there is, with many it has no weight.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::bootstrap::Interval;
use crate::change::{Estimate, MISSES, pair_means};
use crate::quantile::quantile_in_place;
use crate::spread::{mean, squares};

/// Logarithms of the covariate and of the value of one run.
pub type Point = (f64, f64);

/// The runs of a cell: for each side, the old one first, those of each of its executions.
pub type Sides = [Vec<Vec<Point>>; 2];

/// The standard deviation between executions that is assumed: this part of the value at least …
pub const BETWEEN_LEAST: f64 = 0.01;

/// … and this part of the standard deviation between the runs of an execution.
const BETWEEN_RUNS: f64 = 0.5;

/// The weight of the assumption, in degrees of freedom.
const ASSUMED: f64 = 20.0;

/// The quantile of the normal distribution that 2.5 % exceed.
const NORMAL: f64 = 1.96;

/// The standard deviation of the slopes of cells about the slope of all.
const CELLS: f64 = 0.25;

/// The least variance of a change, so that its root divides.
const LEAST: f64 = 1e-18;

/// What a slope is known to be before there is any data: its mean and its standard deviation.
pub type Prior = (f64, f64);

/// The change of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// New ÷ old at an equal covariate, with its 95 % interval.
    pub estimate: Estimate,
    /// New ÷ old that the change of the covariate explains in addition.
    pub explained: f64,
    /// The variance of the logarithm of the change, times the number of executions on a side.
    of_one: f64,
}

impl Effect {
    /// Executions on each side with which the interval is as wide as this part of the value on either side; absent
    /// where one is enough.
    pub fn executions_for(&self, part: f64) -> Option<usize> {
        let needed = (NORMAL / part.ln_1p()).powi(2) * self.of_one;
        (needed > 1.0).then(|| needed.ceil() as usize)
    }
}

/// What all cells have in common, and the change of each; a cell is absent where a side has no run.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// The mean change of the cells; absent with fewer than three.
    pub common: Option<Effect>,
    /// The change of each cell.
    pub cells: Vec<Option<Effect>>,
}

/// A cell with the slope taken off.
struct Adjusted {
    slope: f64,
    slope_error: f64,
    /// Of each side, the place of each execution and its number of runs.
    places: [Vec<(f64, f64)>; 2],
    /// Mean of the covariate, new less old.
    covariate: f64,
    /// Variance of the runs of an execution.
    within: f64,
    /// Its degrees of freedom.
    freedom: f64,
}

/// The changes of cells, with one slope that differs a little from cell to cell, and one variance between executions.
/// `unexplained` is the standard deviation of what else differs between the sides, as a part of the value.
pub fn effects(cells: &[Sides], prior: Prior, unexplained: f64) -> Effects {
    let pooled = combined(prior, slope(cells.iter().flatten().flatten()));
    let of_cells = (pooled.0, pooled.1.hypot(CELLS));
    let adjusted: Vec<Option<Adjusted>> = cells
        .iter()
        .map(|sides| {
            let slope = combined(of_cells, slope(sides.iter().flatten()));
            adjusted(sides, slope)
        })
        .collect();
    let (factor, freedom) = factor(&adjusted);
    let part = |cell: &Adjusted| cell.effect((factor, freedom), unexplained);
    Effects {
        common: common(&adjusted, (factor, freedom), (pooled.1, unexplained)),
        cells: adjusted
            .iter()
            .map(|cell| cell.as_ref().map(part))
            .collect(),
    }
}

/// The slope within executions, and its standard error; absent where nothing can be fitted.
fn slope<'a>(executions: impl Iterator<Item = &'a Vec<Point>>) -> Option<(f64, f64)> {
    let (mut xx, mut xy, mut yy, mut freedom) = (0.0, 0.0, 0.0, -1.0);
    for runs in executions.filter(|runs| runs.len() > 1) {
        let (x, y): (Vec<f64>, Vec<f64>) = runs.iter().copied().unzip();
        let (mean_x, mean_y) = (mean(&x), mean(&y));
        xy += runs
            .iter()
            .map(|(x, y)| (x - mean_x) * (y - mean_y))
            .sum::<f64>();
        xx += squares(&x);
        yy += squares(&y);
        freedom += runs.len() as f64 - 1.0;
    }
    let slope = xy / xx;
    let left = (yy - slope * xy).max(f64::EPSILON * yy);
    (freedom >= 1.0 && xx > 0.0 && yy > 0.0).then(|| (slope, (left / freedom / xx).sqrt()))
}

/// What two independent sources say together, each weighted by its precision.
fn combined(prior: Prior, found: Option<(f64, f64)>) -> (f64, f64) {
    let Some(found) = found.filter(|found| found.1 > 0.0) else {
        return prior;
    };
    let [a, b] = [prior, found].map(|(_, error)| error.powi(-2));
    (
        (prior.0 * a + found.0 * b) / (a + b),
        (a + b).sqrt().recip(),
    )
}

fn adjusted(sides: &Sides, (slope, slope_error): (f64, f64)) -> Option<Adjusted> {
    let (mut squared, mut freedom) = (0.0, 0.0);
    let mut place = |runs: &Vec<Point>| -> Option<(f64, f64)> {
        let values: Vec<f64> = runs.iter().map(|(x, y)| y - slope * x).collect();
        let place = quantile_in_place(&mut pair_means(&values), 0.5)?;
        squared += squares(&values);
        freedom += values.len() as f64 - 1.0;
        Some((place, values.len() as f64))
    };
    let places = sides
        .each_ref()
        .map(|side| side.iter().filter_map(&mut place).collect::<Vec<_>>());
    if places.iter().any(Vec::is_empty) {
        return None;
    }
    let [old, new] = sides.each_ref().map(|side| {
        let of = |runs: &Vec<Point>| mean(&runs.iter().map(|(x, _)| *x).collect::<Vec<_>>());
        let runs = side.iter().filter(|runs| !runs.is_empty());
        mean(&runs.map(of).collect::<Vec<_>>())
    });
    Some(Adjusted {
        slope,
        slope_error,
        places,
        covariate: new - old,
        within: if freedom > 0.0 {
            squared / freedom
        } else {
            0.0
        },
        freedom,
    })
}

/// The variance between executions as a multiple of the assumed one, and its degrees of freedom.
fn factor(cells: &[Option<Adjusted>]) -> (f64, f64) {
    let (mut sum, mut freedom) = (ASSUMED, ASSUMED);
    for cell in cells.iter().flatten() {
        for side in cell.places.iter().filter(|side| side.len() > 1) {
            let places: Vec<f64> = side.iter().map(|(place, _)| *place).collect();
            let count = side.len() as f64;
            let by_runs = side.iter().map(|(_, runs)| cell.within / runs).sum::<f64>() / count;
            sum += (squares(&places) - (count - 1.0) * by_runs) / cell.assumed();
            freedom += count - 1.0;
        }
    }
    ((sum / freedom).max(0.0), freedom)
}

/// The variance of a change, by what causes it.
struct Variance {
    /// The differences between executions, which are multiples of those between runs, and their degrees of freedom.
    between: (f64, f64),
    /// The differences between runs, and their degrees of freedom.
    runs: (f64, f64),
    /// The error of the slope, and what else differs between the sides.
    sides: f64,
}

impl Variance {
    /// The sum, and its degrees of freedom (Satterthwaite 1946).
    fn sum(&self) -> (f64, f64) {
        let Variance {
            between: (between, freedom),
            runs: (runs, of_runs),
            sides,
        } = *self;
        let sum = (between + runs + sides).max(LEAST);
        let inverse = (between + runs).powi(2) / of_runs + between.powi(2) / freedom;
        (sum, (sum * sum / inverse).clamp(1.0, 1e6))
    }
}

/// An estimate with its error; `executions` is the sum over both sides of 1 ÷ executions.
fn effect(change: f64, variance: &Variance, explained: f64, executions: f64) -> Effect {
    let (variance, freedom) = variance.sum();
    let student = StudentsT::new(0.0, 1.0, freedom).ok();
    let error = variance.sqrt();
    let bounds = student.as_ref().map(|student| {
        let reach = student.inverse_cdf(1.0 - MISSES / 2.0) * error;
        (change - reach, change + reach)
    });
    let (low, high) = bounds.unzip();
    let interval = Interval {
        value: change,
        low,
        high,
    };
    Effect {
        estimate: Estimate {
            interval: interval.map(f64::exp),
            chance: student.map(|student| 2.0 * student.cdf(-(change / error).abs())),
        },
        explained: explained.exp(),
        of_one: variance * 2.0 / executions,
    }
}

impl Adjusted {
    /// The variance between executions that is assumed.
    fn assumed(&self) -> f64 {
        BETWEEN_LEAST.powi(2) + BETWEEN_RUNS.powi(2) * self.within
    }

    fn change(&self) -> f64 {
        let [old, new] = self
            .places
            .each_ref()
            .map(|side| mean(&side.iter().map(|(place, _)| *place).collect::<Vec<_>>()));
        new - old
    }

    /// The sum over both sides of 1 ÷ executions.
    fn executions(&self) -> f64 {
        self.places
            .iter()
            .map(|side| (side.len() as f64).recip())
            .sum()
    }

    /// The variance of the change that the noise of the runs causes.
    fn by_runs(&self) -> f64 {
        let side = |side: &Vec<(f64, f64)>| {
            let noise: f64 = side.iter().map(|(_, runs)| self.within / runs).sum();
            noise / (side.len() as f64).powi(2)
        };
        self.places.iter().map(side).sum()
    }

    fn effect(&self, (factor, freedom): (f64, f64), unexplained: f64) -> Effect {
        let explained = self.slope * self.covariate;
        let between = factor * self.assumed();
        let found = effect(
            self.change(),
            &Variance {
                between: (between * self.executions(), freedom),
                runs: (self.by_runs(), self.freedom.max(1.0)),
                sides: (self.slope_error * self.covariate).powi(2) + unexplained.powi(2),
            },
            explained,
            self.executions(),
        );
        match self.freedom {
            0.0 => Effect {
                estimate: Estimate {
                    interval: Interval {
                        low: None,
                        high: None,
                        ..found.estimate.interval
                    },
                    chance: None,
                },
                ..found
            },
            _ => found,
        }
    }
}

/// The mean change; what differs between executions is taken to differ in all cells alike.
fn common(
    cells: &[Option<Adjusted>],
    (factor, freedom): (f64, f64),
    (slope_error, unexplained): (f64, f64),
) -> Option<Effect> {
    let known: Vec<&Adjusted> = cells
        .iter()
        .flatten()
        .filter(|cell| cell.freedom > 0.0)
        .collect();
    if known.len() < 3 {
        return None;
    }
    let count = known.len() as f64;
    let mean_of =
        |of: &dyn Fn(&Adjusted) -> f64| known.iter().map(|cell| of(cell)).sum::<f64>() / count;
    let between = factor * mean_of(&|cell| cell.assumed().sqrt()).powi(2);
    let covariate = mean_of(&|cell| cell.covariate);
    let by_runs = mean_of(&Adjusted::by_runs) / count;
    let of_runs = known.iter().map(|cell| cell.freedom).sum::<f64>();
    Some(effect(
        mean_of(&Adjusted::change),
        &Variance {
            between: (between * mean_of(&Adjusted::executions), freedom),
            runs: (by_runs, of_runs),
            sides: (slope_error * covariate).powi(2) + unexplained.powi(2),
        },
        mean_of(&|cell| cell.slope * cell.covariate),
        mean_of(&Adjusted::executions),
    ))
}
