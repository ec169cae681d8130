//! Change points of several short series of values that share one noise, such as the medians of the cells of a metric
//! over executions.
//!
//! For each place at which a series can be split, the likelihood-ratio test of one shift of a normal mean compares the
//! means of both parts (Sen and Srivastava 1975, "On Tests for Detecting Change in Mean", Annals of Statistics 3, pp.
//! 98-108, doi:10.1214/aos/1176343001); the largest |t| over all places is the test of one change point (Worsley 1979, "On
//! the Likelihood Ratio Test for a Shift in Location of Normal Populations", JASA 74, pp. 365-367,
//! doi:10.1080/01621459.1979.10482519). Several are found by binary segmentation (Vostrikova 1981, "Detecting 'disorder'
//! in multidimensional random processes", Soviet Mathematics Doklady 24, pp. 55-59).
//!
//! Two things differ from these, so that one outlier is no change point: |t| at a place is the smallest that is left when
//! any one value is left out, and each part has at least 2 values. The variance is that of one value to the next (von
//! Neumann 1941, doi:10.1214/aoms/1177731677), by the median of these steps, which a few shifts and outliers change little; it is
//! pooled over the series, and for a series that varies more, its own. The distribution of this |t| without a change is
//! simulated with a fixed seed, with a variance that is found in the same way from as many values.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::sync::{Arc, Mutex, PoisonError};

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

use crate::bootstrap::Interval;
use crate::quantile::quantile_in_place;
use crate::spread::mean;
use crate::together::hold_together;

/// The least number of values on each side of a change point.
pub const SIDE_LEAST: usize = 2;

/// The probability of any false change point among all series.
const LEVEL: f64 = 0.05;

/// The number of simulated series without a change.
const SIMULATED: usize = 20_000;

/// The most values of the simulated series that share a variance; of more, it is as good as known.
const VALUES_MOST: usize = 256;

/// The median distance of a standard normal variable from 0.
const NORMAL_MEDIAN: f64 = 0.674_49;

/// Values in their order, and how exactly each is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The values.
    pub values: Vec<f64>,
    /// The typical standard error of a value; 0 where it is unknown.
    pub error: f64,
}

/// A shift of the mean of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The place of the first value after it.
    pub at: usize,
    /// The shift, the median of the differences of the values after it from those before it, up to the next points; with
    /// its 95 % interval, given the place.
    pub shift: Interval,
    /// The probability of a change point at least this clear in a series without one.
    pub chance: f64,
}

/// The change points of each series of each family. The series of a family share a noise, as the cells of a metric do.
///
/// All series are judged together: the probability of any false point is at most 5 %. The first point of each series is
/// judged by Holm's procedure, those of its parts at 5 % ÷ the number of series. A series of fewer than 4 values has none.
pub fn change_points(families: &[Vec<Series>]) -> Vec<Vec<Vec<ChangePoint>>> {
    let judges: Vec<Judge> = families
        .iter()
        .flat_map(|family| Judge::of(family))
        .collect();
    let first: Vec<Option<(usize, f64)>> = judges.iter().map(Judge::largest).collect();
    let chance = |point: &Option<(usize, f64)>| point.map_or(1.0, |(_, chance)| chance);
    let chances: Vec<f64> = first.iter().map(chance).collect();
    let hold = hold_together(&chances, LEVEL);
    let level = LEVEL / judges.len() as f64;
    let mut found = judges
        .iter()
        .zip(first)
        .zip(hold)
        .map(|((judge, first), holds)| match first {
            Some(first) if holds => judge.points(first, level),
            _ => Vec::new(),
        });
    families
        .iter()
        .map(|family| found.by_ref().take(family.len()).collect())
        .collect()
}

/// A series, and the noise that it is judged by.
struct Judge<'a> {
    values: &'a [f64],
    /// The standard deviation of a value.
    deviation: f64,
    /// The number of independent series whose pooled variance is as exact as the family's.
    series: usize,
}

impl Judge<'_> {
    fn of(family: &[Series]) -> Vec<Judge<'_>> {
        let steps: Vec<Vec<f64>> = family.iter().map(|series| steps(&series.values)).collect();
        let pooled = deviation(&mut steps.concat());
        let independent = independent(&steps);
        let judged = family.iter().zip(steps);
        judged
            .map(|(series, mut steps)| Judge {
                values: &series.values,
                deviation: pooled.max(deviation(&mut steps)).max(series.error),
                series: independent,
            })
            .collect()
    }

    /// The place of the clearest change point, and its p-value.
    fn largest(&self) -> Option<(usize, f64)> {
        self.largest_of(0, self.values.len())
    }

    /// The same of a part.
    fn largest_of(&self, from: usize, to: usize) -> Option<(usize, f64)> {
        let (at, distance) = clearest(&self.values[from..to])?;
        let null = null((to - from, self.values.len(), self.series));
        Some((from + at, null.chance(scaled(distance, self.deviation))))
    }

    /// This point and those of the parts, by binary segmentation.
    fn points(&self, first: (usize, f64), level: f64) -> Vec<ChangePoint> {
        let mut places = vec![first];
        let mut parts = vec![(0, first.0), (first.0, self.values.len())];
        while let Some((from, to)) = parts.pop() {
            let inner = self
                .largest_of(from, to)
                .filter(|(_, chance)| *chance <= level);
            if let Some(inner) = inner {
                places.push(inner);
                parts.extend([(from, inner.0), (inner.0, to)]);
            }
        }
        places.sort_by_key(|(at, _)| *at);
        let bound = |place: usize| places.get(place).map_or(self.values.len(), |(at, _)| *at);
        let point = |(place, (at, chance)): (usize, &(usize, f64))| {
            let from = place.checked_sub(1).map_or(0, bound);
            let (before, after) = (&self.values[from..*at], &self.values[*at..bound(place + 1)]);
            let reach = null((before.len() + after.len(), self.values.len(), self.series)).reach;
            ChangePoint {
                at: *at,
                shift: shift(before, after, reach * self.deviation),
                chance: *chance,
            }
        };
        places.iter().enumerate().map(point).collect()
    }
}

/// The shift from one part to the next, where means differ by less than this many standard errors without one.
fn shift(before: &[f64], after: &[f64], reach: f64) -> Interval {
    let differences = after
        .iter()
        .flat_map(|new| before.iter().map(move |old| new - old));
    let mut differences: Vec<f64> = differences.collect();
    let value = quantile_in_place(&mut differences, 0.5).unwrap_or(0.0);
    let reach = reach * error(before.len() as f64, after.len() as f64);
    Interval {
        value,
        low: Some(value - reach),
        high: Some(value + reach),
    }
}

/// The standard error of a difference of means of so few values each, of which each has a deviation of 1.
fn error(before: f64, after: f64) -> f64 {
    (before.recip() + after.recip()).sqrt()
}

/// The place at which both parts of a series differ most, and by how many standard errors of a deviation of 1: the fewest
/// that are left without any one value. Absent where a part would be too short.
fn clearest(values: &[f64]) -> Option<(usize, f64)> {
    if values.len() < 2 * SIDE_LEAST {
        return None;
    }
    let before = running(values.iter());
    let after = running(values.iter().rev());
    let mut largest = (SIDE_LEAST, -1.0);
    for at in SIDE_LEAST..=values.len() - SIDE_LEAST {
        let distance = apart(&before[at - 1], &after[values.len() - at - 1]);
        if distance > largest.1 {
            largest = (at, distance);
        }
    }
    Some(largest)
}

/// Of the first values: their number, sum, least and largest.
type Part = (f64, f64, f64, f64);

fn running<'a>(values: impl Iterator<Item = &'a f64>) -> Vec<Part> {
    let none = (0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY);
    values
        .scan(none, |part, value| {
            let (count, sum, least, largest) = *part;
            *part = (
                count + 1.0,
                sum + value,
                least.min(*value),
                largest.max(*value),
            );
            Some(*part)
        })
        .collect()
}

/// How far two parts are apart, in standard errors, at least, without any one value.
fn apart(before: &Part, after: &Part) -> f64 {
    let rises = after.1 / after.0 > before.1 / before.0;
    let (low, high) = if rises {
        (before, after)
    } else {
        (after, before)
    };
    let without = |(count, sum, ..): &Part, value: f64| (count - 1.0, sum - value);
    let distance = |(low, low_sum): (f64, f64), (high, high_sum): (f64, f64)| {
        (high_sum / high - low_sum / low) / error(low, high)
    };
    let without_high = distance((low.0, low.1), without(high, high.3));
    let without_low = distance(without(low, low.2), (high.0, high.1));
    without_high.min(without_low).max(0.0)
}

fn scaled(distance: f64, deviation: f64) -> f64 {
    if distance == 0.0 {
        0.0
    } else {
        distance / deviation
    }
}

/// The differences of each value from the one before, scaled to the deviation of one value.
fn steps(values: &[f64]) -> Vec<f64> {
    let pairs = values.windows(2);
    pairs
        .map(|pair| (pair[1] - pair[0]) / 2_f64.sqrt())
        .collect()
}

/// The standard deviation of normal values by the median of their distances from 0; the values become these distances.
fn deviation(steps: &mut [f64]) -> f64 {
    steps.iter_mut().for_each(|step| *step = step.abs());
    quantile_in_place(steps, 0.5).unwrap_or(0.0) / NORMAL_MEDIAN
}

/// How many independent series have a pooled variance as exact as that of these, by the signs of their steps, which a
/// large shift changes no more than a small one: tr(S)² ÷ tr(S²) of their products (Box 1954, doi:10.1214/aoms/1177728786).
fn independent(steps: &[Vec<f64>]) -> usize {
    let length = steps.iter().map(Vec::len).min().unwrap_or(0);
    let product = |a: usize, b: usize| -> f64 {
        steps.iter().map(|of| of[a].signum() * of[b].signum()).sum()
    };
    let squares: f64 = (0..length)
        .flat_map(|a| (0..length).map(move |b| (a, b)))
        .map(|(a, b)| product(a, b).powi(2))
        .sum();
    let trace = (steps.len() * length) as f64;
    ((trace * trace / squares.max(1.0)).round() as usize).max(1)
}

/// What series without a change point show.
struct Null {
    /// The largest |t| of each, ascending.
    largest: Vec<f64>,
    /// The |t| of one place that 5 % of them exceed.
    reach: f64,
}

/// What was simulated, by the length of the part and of the series, and the number of series.
static NULLS: Mutex<BTreeMap<(usize, usize, usize), Arc<Null>>> = Mutex::new(BTreeMap::new());

/// What a part of this length shows, of series of this length, of which this number share a variance.
fn null((part, length, series): (usize, usize, usize)) -> Arc<Null> {
    let series = series.min(VALUES_MOST / length).max(1);
    let mut nulls = NULLS.lock().unwrap_or_else(PoisonError::into_inner);
    let null = nulls.entry((part, length, series));
    null.or_insert_with(|| Arc::new(Null::simulated(part, length, series)))
        .clone()
}

impl Null {
    fn simulated(part: usize, length: usize, series: usize) -> Null {
        let mut noise = Noise(ChaCha8Rng::seed_from_u64(1), None);
        let (mut largest, mut plain) =
            (Vec::with_capacity(SIMULATED), Vec::with_capacity(SIMULATED));
        let middle = part / 2;
        for _ in 0..SIMULATED {
            let values: Vec<f64> = (0..length * series).map(|_| noise.draw()).collect();
            let mut all: Vec<f64> = values.chunks(length).flat_map(steps).collect();
            let own = deviation(&mut steps(&values[..length]));
            let deviation = deviation(&mut all).max(own);
            let (before, after) = values[..part].split_at(middle);
            let difference = (mean(after) - mean(before)).abs();
            plain.push(difference / error(before.len() as f64, after.len() as f64) / deviation);
            largest
                .extend(clearest(&values[..part]).map(|(_, distance)| scaled(distance, deviation)));
        }
        largest.sort_by(f64::total_cmp);
        Null {
            largest,
            reach: quantile_in_place(&mut plain, 1.0 - LEVEL).unwrap_or(f64::INFINITY),
        }
    }

    /// The probability of a value at least this large.
    fn chance(&self, value: f64) -> f64 {
        let below = self.largest.partition_point(|other| *other < value);
        (self.largest.len() - below + 1) as f64 / (self.largest.len() + 1) as f64
    }
}

/// Standard normal values, two at a time (Box and Muller 1958, doi:10.1214/aoms/1177706645).
struct Noise(ChaCha8Rng, Option<f64>);

impl Noise {
    fn draw(&mut self) -> f64 {
        if let Some(value) = self.1.take() {
            return value;
        }
        // The upper 53 bits are a number in (0, 1].
        let mut uniform = || ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        let (radius, angle) = ((-2.0 * uniform().ln()).sqrt(), TAU * uniform());
        self.1 = Some(radius * angle.sin());
        radius * angle.cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Series of this length with the noise of this seed, which shift by `shift` at `at`.
    fn family(seed: u64, series: usize, length: usize, at: usize, shift: f64) -> Vec<Series> {
        let mut noise = Noise(ChaCha8Rng::seed_from_u64(1000 + seed), None);
        let mut value = |place: usize| noise.draw() + if place >= at { shift } else { 0.0 };
        let mut values = || (0..length).map(&mut value).collect();
        let one = |_| Series {
            values: values(),
            error: 0.0,
        };
        (0..series).map(one).collect()
    }

    fn points(family: Vec<Series>) -> Vec<Vec<ChangePoint>> {
        change_points(&[family]).remove(0)
    }

    #[test]
    fn five_of_a_hundred_families_without_a_change_have_a_point() {
        for (series, length) in [(1, 6), (4, 8), (8, 20)] {
            let has_any = |seed: &u64| {
                points(family(*seed, series, length, 0, 0.0))
                    .iter()
                    .any(|of| !of.is_empty())
            };
            let rate = (0..400).filter(has_any).count() as f64 / 400.0;
            assert!(
                (0.02..=0.08).contains(&rate),
                "{series} of {length}: {rate}"
            );
        }
    }

    #[test]
    fn a_large_shift_is_found_at_its_place() {
        for (series, length, shift, least) in [(8, 6, 8.0, 70), (8, 10, 5.0, 85), (4, 40, 3.0, 90)]
        {
            let at = length / 2;
            let is_found = |seed: &u64| {
                let found = points(family(*seed, series, length, at, shift));
                found.iter().any(|of| of.iter().any(|point| point.at == at))
            };
            let found = (0..100).filter(is_found).count();
            assert!(found >= least, "{series} of {length} by {shift}: {found}");
        }
    }

    #[test]
    fn the_interval_has_the_shift() {
        let has = |seed: &u64| {
            let found = points(family(*seed, 1, 40, 20, 5.0));
            let Some(point) = found[0].first() else {
                return false;
            };
            point.shift.low < Some(5.0) && point.shift.high > Some(5.0)
        };
        let count = (0..200).filter(has).count();
        assert!((180..=198).contains(&count), "{count}");
    }

    #[test]
    fn one_outlier_is_no_change_point() {
        for place in 0..8 {
            let mut all = family(3, 6, 8, 0, 0.0);
            all.iter_mut()
                .for_each(|series| series.values[place] += 50.0);
            assert!(points(all).iter().all(Vec::is_empty), "{place}");
        }
    }

    #[test]
    fn several_points_are_found() {
        let mut all = family(5, 2, 60, 20, 8.0);
        all.iter_mut().for_each(|series| {
            series.values[45..]
                .iter_mut()
                .for_each(|value| *value -= 5.0)
        });
        for of in points(all) {
            let places: Vec<usize> = of.iter().map(|point| point.at).collect();
            assert_eq!(places, [20, 45]);
            assert!((of[0].shift.value - 8.0).abs() < 1.0 && (of[1].shift.value + 5.0).abs() < 1.0);
        }
    }

    #[test]
    fn short_and_constant_series() {
        let series = |values: &[f64]| {
            vec![Series {
                values: values.to_vec(),
                error: 0.0,
            }]
        };
        assert_eq!(points(series(&[1.0, 1.0, 9.0])), [vec![]]);
        assert_eq!(points(series(&[1.0; 9])), [vec![]]);
        let step = points(series(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]));
        assert_eq!((step[0][0].at, step[0][0].shift.value), (3, 1.0));
        // What the errors of the values explain is no change.
        let known = Series {
            values: vec![1.0, 1.0, 1.0, 2.0, 2.0, 2.0],
            error: 1.0,
        };
        assert_eq!(points(vec![known]), [vec![]]);
        assert_eq!(change_points(&[]), Vec::<Vec<Vec<ChangePoint>>>::new());
    }
}
