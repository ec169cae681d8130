//! Linear regression over groups of values: a constant part, and a part that grows with x.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::bootstrap::{Interval, RESAMPLES, below};

/// A line through values at three or more places, fitted so that the sum of squared *relative* errors is least: a value that is
/// ten times as large may deviate ten times as much.
#[derive(Clone, Debug, PartialEq)]
pub struct LineFit {
    /// The value at x = 0, with its interval.
    pub intercept: Interval,
    /// The increase per unit of x, with its interval.
    pub slope: Interval,
    /// Share of the values' squared distances from their mean that the line explains.
    pub r_squared: f64,
    /// Root of the mean squared relative error of the places' means.
    pub relative_rms: f64,
    /// The largest absolute relative error of a place's mean, and that place.
    pub largest_residual: (f64, f64),
    /// Each place with the mean of its values and their number.
    pub places: Vec<(f64, f64, usize)>,
    /// The test of lack of fit; absent where no place has two values.
    pub lack_of_fit: Option<LackOfFit>,
}

/// The F test of lack of fit: the spread of the places' means about the line against that of values about their place's mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LackOfFit {
    /// The ratio of both mean squares.
    pub f: f64,
    /// Probability of a ratio as large where the true relation is a line.
    pub p: f64,
}

impl LineFit {
    /// The value of the line at a place.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept.value + self.slope.value * x
    }

    /// The share of the value at a place that comes from the slope.
    pub fn share_of_slope(&self, x: f64) -> f64 {
        self.slope.value * x / self.at(x)
    }

    /// The place at which both parts are equal; absent where one of them is not above 0.
    pub fn equal_at(&self) -> Option<f64> {
        let (intercept, slope) = (self.intercept.value, self.slope.value);
        (intercept > 0.0 && slope > 0.0).then(|| intercept / slope)
    }
}

/// Values of one place.
type Place = (f64, Vec<f64>);

/// The line through points of x and y, with 95 % bootstrap intervals. It depends on the points and the seed, not on the order.
///
/// Where every place has two values or more, values are resampled within their place; otherwise whole points are, because a place
/// with one value has no spread. Absent with fewer than three places, or where a y is not above 0.
pub fn fit_line(points: &[(f64, f64)], seed: u64) -> Option<LineFit> {
    let places = by_place(points)?;
    let (intercept, slope) = least_squares(
        places
            .iter()
            .flat_map(|(x, ys)| ys.iter().map(|y| (*x, *y))),
    )?;
    let (intercepts, slopes) = resampled(&places, seed);
    let line = |x: f64| intercept + slope * x;
    let means: Vec<(f64, f64, usize)> = places
        .iter()
        .map(|(x, ys)| (*x, ys.iter().sum::<f64>() / ys.len() as f64, ys.len()))
        .collect();
    let residuals: Vec<(f64, f64)> = means
        .iter()
        .map(|(x, mean, _)| ((mean - line(*x)) / mean, *x))
        .collect();
    let largest = residuals
        .iter()
        .copied()
        .max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
    Some(LineFit {
        intercept: Interval::new(intercept, intercepts),
        slope: Interval::new(slope, slopes),
        r_squared: r_squared(&places, line),
        relative_rms: (residuals
            .iter()
            .map(|(error, _)| error * error)
            .sum::<f64>()
            / residuals.len() as f64)
            .sqrt(),
        largest_residual: (largest.0.abs(), largest.1),
        lack_of_fit: lack_of_fit(&places, line),
        places: means,
    })
}

fn by_place(points: &[(f64, f64)]) -> Option<Vec<Place>> {
    if points
        .iter()
        .any(|(x, y)| !(x.is_finite() && y.is_finite() && *y > 0.0))
    {
        return None;
    }
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut places: Vec<Place> = Vec::new();
    for (x, y) in sorted {
        match places.last_mut() {
            Some((last, ys)) if *last == x => ys.push(y),
            _ => places.push((x, vec![y])),
        }
    }
    (places.len() >= 3).then_some(places)
}

/// Intercept and slope with weights 1 ÷ y²; absent where all points have the same x.
fn least_squares(points: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (x, y) in points {
        let weight = 1.0 / (y * y);
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
    }
    let determinant = w * wxx - wx * wx;
    if determinant.is_nan() || determinant <= 1e-12 * w * wxx {
        return None;
    }
    let slope = (w * wxy - wx * wy) / determinant;
    Some(((wy - slope * wx) / w, slope))
}

/// Intercepts and slopes of resampled points.
fn resampled(places: &[Place], seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let all: Vec<(f64, f64)> = places
        .iter()
        .flat_map(|(x, ys)| ys.iter().map(|y| (*x, *y)))
        .collect();
    let within = places.iter().all(|(_, ys)| ys.len() > 1);
    let mut draw = || -> Vec<(f64, f64)> {
        if within {
            let of_place = |(x, ys): &Place| {
                ys.iter()
                    .map(|_| (*x, ys[below(&mut generator, ys.len())]))
                    .collect::<Vec<_>>()
            };
            return places.iter().flat_map(of_place).collect();
        }
        all.iter()
            .map(|_| all[below(&mut generator, all.len())])
            .collect()
    };
    (0..RESAMPLES)
        .filter_map(|_| least_squares(draw().into_iter()))
        .unzip()
}

fn r_squared(places: &[Place], line: impl Fn(f64) -> f64) -> f64 {
    let points = || {
        places
            .iter()
            .flat_map(|(x, ys)| ys.iter().map(|y| (*x, *y)))
    };
    let mean = points().map(|(_, y)| y).sum::<f64>() / points().count() as f64;
    let about =
        |centre: &dyn Fn(f64) -> f64| points().map(|(x, y)| (y - centre(x)).powi(2)).sum::<f64>();
    let all = about(&|_| mean);
    if all > 0.0 {
        1.0 - about(&line) / all
    } else {
        0.0
    }
}

fn lack_of_fit(places: &[Place], line: impl Fn(f64) -> f64) -> Option<LackOfFit> {
    let values: usize = places.iter().map(|(_, ys)| ys.len()).sum();
    let free = values - places.len();
    let (mut pure, mut lack) = (0.0, 0.0);
    for (x, ys) in places {
        let mean = ys.iter().sum::<f64>() / ys.len() as f64;
        let relative = |error: f64| (error / mean).powi(2);
        pure += ys.iter().map(|y| relative(y - mean)).sum::<f64>();
        lack += ys.len() as f64 * relative(mean - line(*x));
    }
    if free == 0 || pure <= 0.0 {
        return None;
    }
    let more = places.len() - 2;
    let f = (lack / more as f64) / (pure / free as f64);
    let distribution = FisherSnedecor::new(more as f64, free as f64).ok()?;
    Some(LackOfFit {
        f,
        p: distribution.sf(f),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fit_line_recovers_a_line() {
        let points: Vec<(f64, f64)> = [1.0, 10.0, 100.0, 1000.0]
            .map(|x| (x, 50.0 + 0.25 * x))
            .to_vec();
        let fit = fit_line(&points, 1).expect("four places");
        assert!((fit.intercept.value - 50.0).abs() < 1e-9 && (fit.slope.value - 0.25).abs() < 1e-9);
        assert!(fit.r_squared > 0.999_999 && fit.largest_residual.0 < 1e-9);
        assert_eq!(fit.equal_at().map(f64::round), Some(200.0));
        assert!((fit.share_of_slope(200.0) - 0.5).abs() < 1e-9);
        assert_eq!(
            fit.lack_of_fit, None,
            "one value a place says nothing of its spread"
        );
    }

    #[test]
    fn fit_line_absent_for_two_places() {
        assert_eq!(fit_line(&[(1.0, 2.0), (1.0, 3.0), (2.0, 4.0)], 1), None);
        assert_eq!(fit_line(&[(1.0, 2.0), (2.0, 0.0), (3.0, 4.0)], 1), None);
    }

    fn lack_of_fit(shape: fn(f64) -> f64) -> f64 {
        let places = (1..8)
            .map(f64::from)
            .flat_map(|x| [0.99, 1.0, 1.01].map(|noise| (x, shape(x) * noise)));
        let fit = fit_line(&places.collect::<Vec<_>>(), 1);
        fit.and_then(|fit| fit.lack_of_fit)
            .expect("several values a place")
            .p
    }

    #[test]
    fn lack_of_fit_is_found_for_a_curve_only() {
        let [line, curve] = [lack_of_fit(|x| 10.0 + x), lack_of_fit(|x| 10.0 + x * x)];
        assert!(line > 0.5 && curve < 0.001, "{line} {curve}");
    }
}
