//! The change from one set of values to another: the difference of the means of the values or of their logarithms, with
//! Student's interval and a separate spread for each side (Welch 1947).

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::bootstrap::Interval;
use crate::spread::{mean, squares};

/// The probability that an interval does not contain the true value.
const MISSES: f64 = 0.05;

/// With at least this number of blocks, pairing gives narrower intervals where both sides are correlated by more than
/// this: it removes the effect of a block on both sides, and halves the degrees of freedom. With fewer blocks, a correlation
/// may be a coincidence.
const TOGETHER: [(usize, f64); 2] = [(8, 0.5), (5, 0.8)];

/// The fewest values of a side that are adjusted for a covariate.
const VALUES_LEAST: usize = 5;

/// The least standard deviation within the sides, as a share of its mean, of a covariate that values are adjusted for.
const VARIES_LEAST: f64 = 0.002;

/// The scale of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// New ÷ old; only values above 0 have it.
    Ratio,
    /// New − old.
    Difference,
}

impl Scale {
    /// The values on the scale; absent where there are none, or one is not on the scale.
    fn values(self, values: &[f64]) -> Option<Vec<f64>> {
        let place = |value: &f64| match self {
            Scale::Ratio => (value.is_finite() && *value > 0.0).then(|| value.ln()),
            Scale::Difference => value.is_finite().then_some(*value),
        };
        values
            .iter()
            .map(place)
            .collect::<Option<Vec<f64>>>()
            .filter(|values| !values.is_empty())
    }

    /// A shift in the unit in which it is reported.
    fn told(self, shift: f64) -> f64 {
        match self {
            Scale::Ratio => shift.exp(),
            Scale::Difference => shift,
        }
    }
}

/// A change, and how surely it is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The change with its 95 % interval.
    pub interval: Interval,
    /// The probability of a change at least this clear where there is none (two-sided p-value of the test that the
    /// interval belongs to); absent without an interval.
    pub chance: Option<f64>,
}

/// The values of two sides on a scale.
#[derive(Clone, Debug)]
pub struct Sides {
    scale: Scale,
    old: Vec<f64>,
    new: Vec<f64>,
    /// The number of covariates that the values are adjusted for.
    slopes: f64,
    /// The variance that the slopes of these covariates add to the change, as a multiple of that of the values.
    leverage: f64,
}

impl Sides {
    /// Absent where a side is empty or a value is not on the scale.
    pub fn of(old: &[f64], new: &[f64], scale: Scale) -> Option<Sides> {
        Some(Sides {
            scale,
            old: scale.values(old)?,
            new: scale.values(new)?,
            slopes: 0.0,
            leverage: 0.0,
        })
    }

    /// The values as they would be at equal covariates, each of which has a number for each value of the old and of the new
    /// side: analysis of covariance, with a slope that is common to both sides.
    ///
    /// A covariate that varies little within the sides cannot be adjusted for, and with fewer than five values a side none is.
    pub fn at_equal(mut self, mut covariates: Vec<[Vec<f64>; 2]>) -> Sides {
        if self.old.len().min(self.new.len()) < VALUES_LEAST {
            return self;
        }
        while let Some([old, new]) = covariates.pop() {
            let middle = mean(&[&old[..], &new[..]].concat());
            if pooled(&old, &new).sqrt() <= VARIES_LEAST * middle.abs() {
                continue;
            }
            let within = [centred(&old), centred(&new)].concat();
            let squares = product(&within, &within);
            let apart = mean(&new) - mean(&old);
            let take_out = |[a, b]: [&mut Vec<f64>; 2]| {
                let slope = product(&within, &[&a[..], &b[..]].concat()) / squares;
                for (values, covariate) in [(a, &old), (b, &new)] {
                    let pairs = values.iter_mut().zip(covariate);
                    pairs.for_each(|(value, here)| *value -= slope * (here - middle));
                }
            };
            take_out([&mut self.old, &mut self.new]);
            for [a, b] in &mut covariates {
                take_out([a, b]);
            }
            self.slopes += 1.0;
            self.leverage += apart * apart / squares;
        }
        self
    }

    /// Whether the values are adjusted for a covariate.
    pub fn is_adjusted(&self) -> bool {
        self.slopes > 0.0
    }

    /// The error of a change, with what the slopes add to it.
    fn with_slopes(&self, error: Error) -> Error {
        let freedom = error.freedom - self.slopes;
        let of_slopes = pooled(&self.old, &self.new) * self.leverage;
        let square = (error.error.powi(2) + of_slopes) * error.freedom / freedom;
        Error {
            error: square.sqrt(),
            freedom,
        }
    }

    /// The change of sides that were measured in the same blocks, from the change in each block: `pairs` holds the places of
    /// the old and the new value of each block.
    ///
    /// Absent where [`Sides::change`] is more precise: with fewer than 5 blocks, and where the sides are not correlated over
    /// the blocks.
    pub fn paired_change(&self, pairs: &[(usize, usize)]) -> Option<Estimate> {
        let of = |&(old, new): &(usize, usize)| (self.old[old], self.new[new]);
        let (old, new): (Vec<f64>, Vec<f64>) = pairs.iter().map(of).unzip();
        let (_, least) = TOGETHER
            .into_iter()
            .find(|(blocks, _)| old.len() >= *blocks)?;
        if correlation(&old, &new) <= least {
            return None;
        }
        let changes: Vec<f64> = old.iter().zip(&new).map(|(old, new)| new - old).collect();
        let error = self.with_slopes(Error {
            error: (variance(&changes) / changes.len() as f64).sqrt(),
            freedom: changes.len() as f64 - 1.0,
        });
        Some(estimate(mean(&changes), Some(error), self.scale))
    }

    /// The change of sides that were measured independently; without bounds where a side has only one value.
    pub fn change(&self) -> Estimate {
        let error = welch(&self.old, &self.new).map(|error| self.with_slopes(error));
        estimate(mean(&self.new) - mean(&self.old), error, self.scale)
    }
}

/// The change of two single values above 0, from the error of the difference of their logarithms.
pub fn change_of_two(old: f64, new: f64, error: Error) -> Estimate {
    estimate((new / old).ln(), Some(error), Scale::Ratio)
}

/// A difference of means with its interval and its chance; without both where the spread is not known.
fn estimate(difference: f64, error: Option<Error>, scale: Scale) -> Estimate {
    let bounds = error.and_then(|error| Some((error.reach()?, error.chance(difference))));
    let (reach, chance) = bounds.unzip();
    let interval = Interval {
        value: difference,
        low: reach.map(|reach| difference - reach),
        high: reach.map(|reach| difference + reach),
    };
    Estimate {
        interval: interval.map(|shift| scale.told(shift)),
        chance,
    }
}

/// A standard error, and its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Error {
    /// The standard error.
    pub error: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
}

impl Error {
    /// The error of a sum of independent figures, with the degrees of freedom of Welch and Satterthwaite.
    pub fn of(parts: &[Error]) -> Error {
        let squares = parts.iter().map(|part| part.error.powi(2));
        let all: f64 = squares.sum();
        let fourth = |part: &Error| part.error.powi(4) / part.freedom;
        let least = parts.iter().map(|part| part.freedom);
        Error {
            error: all.sqrt(),
            freedom: match all > 0.0 {
                true => all * all / parts.iter().map(fourth).sum::<f64>(),
                false => least.fold(f64::INFINITY, f64::min),
            },
        }
    }

    /// Half of Student's 95 % interval; absent without a degree of freedom.
    pub fn reach(&self) -> Option<f64> {
        let distribution = StudentsT::new(0.0, 1.0, self.freedom).ok()?;
        Some(distribution.inverse_cdf(1.0 - MISSES / 2.0) * self.error)
    }

    /// The two-sided p-value of Student's test of this difference.
    fn chance(&self, difference: f64) -> f64 {
        if self.error == 0.0 {
            return if difference == 0.0 { 1.0 } else { 0.0 };
        }
        match StudentsT::new(0.0, 1.0, self.freedom) {
            Ok(distribution) => 2.0 * distribution.cdf(-(difference / self.error).abs()),
            Err(_) => 1.0,
        }
    }
}

/// The spread of a difference of means, with a separate one for each side. With equal counts, its degrees of freedom are
/// those of equal spreads, which then also hold for unequal ones; otherwise they are those of Welch and Satterthwaite.
fn welch(old: &[f64], new: &[f64]) -> Option<Error> {
    if old.len() < 2 || new.len() < 2 {
        return None;
    }
    let [(old_count, old_part), (new_count, new_part)] = [old, new].map(|values| {
        let count = values.len() as f64;
        (count, variance(values) / count)
    });
    let both = old_part + new_part;
    if old.len() != new.len() && both > 0.0 {
        let of = |part: f64, count: f64| Error {
            error: part.sqrt(),
            freedom: count - 1.0,
        };
        return Some(Error::of(&[
            of(old_part, old_count),
            of(new_part, new_count),
        ]));
    }
    Some(Error {
        error: both.sqrt(),
        freedom: old_count + new_count - 2.0,
    })
}

/// The variance within two sides; not a number without a degree of freedom.
fn pooled(old: &[f64], new: &[f64]) -> f64 {
    (squares(old) + squares(new)) / (old.len() as f64 + new.len() as f64 - 2.0)
}

pub(crate) fn centred(values: &[f64]) -> Vec<f64> {
    let middle = mean(values);
    values.iter().map(|value| value - middle).collect()
}

pub(crate) fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The variance of a sample.
fn variance(values: &[f64]) -> f64 {
    squares(values) / (values.len() as f64 - 1.0)
}

/// Pearson's correlation; 0 where a side does not vary.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let common = product(&centred(a), &centred(b));
    let both = (squares(a) * squares(b)).sqrt();
    if both > 0.0 { common / both } else { 0.0 }
}

/// For each test, given by its p-value, whether it holds among all of them at this level.
pub fn hold_together(chances: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut hold = vec![false; chances.len()];
    let left = (1..=chances.len()).rev();
    for (place, left) in order.into_iter().zip(left) {
        if chances[place] * left as f64 > level {
            break;
        }
        hold[place] = true;
    }
    hold
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired_change(pairs: &[(f64, f64)], scale: Scale) -> Option<Estimate> {
        let (old, new): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let places: Vec<(usize, usize)> = (0..pairs.len()).map(|place| (place, place)).collect();
        Sides::of(&old, &new, scale)?.paired_change(&places)
    }

    fn change(old: &[f64], new: &[f64], scale: Scale) -> Option<Estimate> {
        Some(Sides::of(old, new, scale)?.change())
    }

    #[test]
    fn values_are_compared_at_equal_covariates() {
        // Values follow two covariates and a wobble; the new side is 5 above the old one, and has larger covariates.
        let covariate = |place: u32, by: f64| f64::from(place * place % 7) + by;
        let other = |place: u32, by: f64| f64::from(place * place * place % 5) + by;
        let wobble = |place: u32| 0.1 * f64::from(place % 2);
        let side = |by: f64| {
            (0..10).map(move |place| (covariate(place, by), other(place, by), wobble(place)))
        };
        let values = |by: f64, more: f64| -> Vec<f64> {
            side(by)
                .map(|(a, b, wobble)| 10.0 + 3.0 * a - 2.0 * b + wobble + more)
                .collect()
        };
        let (old, new) = (values(0.0, 0.0), values(0.5, 5.0));
        let sides = Sides::of(&old, &new, Scale::Difference).expect("numbers");
        let both = [0.0, 0.5];
        let covariates = vec![
            both.map(|by| side(by).map(|(a, ..)| a).collect()),
            both.map(|by| side(by).map(|(_, b, _)| b).collect()),
            both.map(|by| vec![100.0 + by; 10]),
        ];
        let found = sides.clone().at_equal(covariates).change().interval;
        assert!((found.value - 5.0).abs() < 0.01, "{found:?}");
        assert!(found.high.unwrap() - found.value < 0.1, "{found:?}");
        let plain = sides.change().interval;
        assert!(plain.high.unwrap() - plain.value > 3.0, "{plain:?}");
    }

    #[test]
    fn paired_change_cancels_block_effects() {
        let pairs: Vec<(f64, f64)> = (1..8)
            .map(|block| (f64::from(block), f64::from(block) * 1.05))
            .collect();
        for pairs in [&pairs[..], &pairs[..5]] {
            let found = paired_change(pairs, Scale::Ratio).unwrap().interval;
            for value in [Some(found.value), found.low, found.high] {
                assert!((value.unwrap() - 1.05).abs() < 1e-9, "{found:?}");
            }
        }
        let (old, new): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let apart = change(&old, &new, Scale::Ratio).unwrap().interval;
        assert!(apart.low.unwrap() < 0.9 && apart.high.unwrap() > 1.1);
    }

    #[test]
    fn change_of_few_values_has_student_bounds() {
        // Means 0 and ln 2, squares 2 s² with s = 0.01, two degrees of freedom: ± 4.303 × 0.01.
        let (old, new) = ([0.99_f64.ln(), -(0.99_f64.ln())].map(f64::exp), [2.0, 2.0]);
        let found = change(&old, &new, Scale::Ratio).unwrap().interval;
        let spread = (2.0 * 0.99_f64.ln().powi(2) / 2.0).sqrt();
        assert!((found.high.unwrap() / 2.0 - (4.302_65 * spread).exp()).abs() < 1e-5);
        assert!((found.value - 2.0).abs() < 1e-9);
    }

    #[test]
    fn paired_change_absent_without_correlation() {
        let is_paired = |pairs: &[(f64, f64)]| paired_change(pairs, Scale::Difference).is_some();
        let together: Vec<(f64, f64)> = (1..6)
            .map(|block| (f64::from(block), f64::from(block) * 1.1))
            .collect();
        assert!(!is_paired(&together[..4]) && is_paired(&together));
        // Correlated by about 0.7, then by −1.
        let half = [
            (1.0, 2.0),
            (2.0, 1.0),
            (3.0, 4.0),
            (4.0, 3.0),
            (5.0, 2.0),
            (6.0, 7.0),
            (7.0, 6.0),
            (8.0, 5.0),
        ];
        assert!(!is_paired(&half[..7]) && is_paired(&half));
        assert!(!is_paired(&half.map(|(old, _)| (old, -old))));
    }

    #[test]
    fn difference_accepts_values_below_zero() {
        let found = change(&[0.0, 0.0, 0.0], &[60.0, 70.0, 80.0], Scale::Difference)
            .unwrap()
            .interval;
        // Squares 200, a standard error of √(100 / 3), four degrees of freedom: ± 2.776 × 5.774.
        assert!(
            (found.value - 70.0).abs() < 1e-9 && (found.low.unwrap() - (70.0 - 16.03)).abs() < 0.01,
            "{found:?}"
        );
        let pairs: Vec<(f64, f64)> = (-4..4)
            .map(|block| (f64::from(block), f64::from(block) + 3.0))
            .collect();
        assert_eq!(
            paired_change(&pairs, Scale::Difference)
                .unwrap()
                .interval
                .low,
            Some(3.0)
        );
    }

    #[test]
    fn chance_is_under_5_pct_where_the_interval_leaves_out_no_change() {
        let noise = |count: u32, shift: f64| -> Vec<f64> {
            let value = |place: u32| 100.0 + shift + f64::from(place * 7 % 11);
            (0..count).map(value).collect()
        };
        for count in [3, 5, 8, 10, 30] {
            for shift in [0.0, 1.5, 3.0, 4.5, 6.0, 20.0] {
                let found = change(&noise(count, 0.0), &noise(count, shift), Scale::Ratio).unwrap();
                let is_outside = found.interval.low.unwrap() > 1.0;
                let chance = found.chance.unwrap();
                assert_eq!(is_outside, chance <= MISSES, "{count} {shift}: {found:?}");
            }
        }
        let same = change(&[2.0; 5], &[2.0; 5], Scale::Ratio).unwrap();
        assert_eq!(same.chance, Some(1.0));
        let apart = change(&[2.0; 5], &[3.0; 5], Scale::Ratio).unwrap();
        assert_eq!(apart.chance, Some(0.0));
    }

    #[test]
    fn change_uses_separate_spreads() {
        // Welch and Satterthwaite: parts 1 / 9 and 1, 3.69 degrees of freedom.
        let wide = [-1.0, -1.0, 1.0, 1.0].map(|value: f64| value * 3_f64.sqrt());
        let narrow = [-1.0, -1.0, -1.0, -1.0, 0.0, 1.0, 1.0, 1.0, 1.0];
        let reach = welch(&narrow, &wide).unwrap().reach().unwrap();
        let (parts, freedom) = (
            10.0_f64 / 9.0,
            (10.0_f64 / 9.0).powi(2) / (1.0 / 81.0 / 8.0 + 1.0 / 3.0),
        );
        let expected = StudentsT::new(0.0, 1.0, freedom)
            .unwrap()
            .inverse_cdf(0.975)
            * parts.sqrt();
        assert!((reach - expected).abs() < 1e-9 && freedom < 4.0);
        let same = [2.0; 3];
        assert_eq!(
            change(&same, &[2.0; 4], Scale::Ratio)
                .unwrap()
                .interval
                .high,
            Some(1.0)
        );
    }

    #[test]
    fn ratio_absent_for_values_not_above_zero() {
        assert_eq!(paired_change(&[], Scale::Ratio), None);
        assert_eq!(paired_change(&[(0.0, 1.0); 9], Scale::Ratio), None);
        assert_eq!(change(&[1.0], &[], Scale::Ratio), None);
        assert_eq!(change(&[1.0], &[f64::INFINITY], Scale::Difference), None);
        assert_eq!(
            change(&[2.0], &[4.0, 4.0], Scale::Ratio).unwrap(),
            Estimate {
                interval: Interval::alone(2.0),
                chance: None
            }
        );
        let many: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert!((change(&many, &many, Scale::Ratio).unwrap().interval.value - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_first_that_does_not_hold_ends_the_procedure() {
        // Holm's steps: 0.05 / 4, / 3, / 2, / 1.
        let hold = |chances: &[f64]| hold_together(chances, 0.05);
        assert_eq!(hold(&[0.01, 0.04, 0.03, 0.005]), [true, false, false, true]);
        assert_eq!(hold(&[0.013, 0.001, 0.02, 0.04]), [true, true, true, true]);
        assert_eq!(hold(&[0.02, 0.03]), [true, true]);
        assert_eq!(hold(&[0.03, 0.03]), [false, false]);
        assert_eq!(hold(&[]), [false; 0]);
    }
}
