//! Linear regression over groups of values: a constant part, and a part that grows with x.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::bootstrap::{Interval, RESAMPLES, below};

/// A line through values at three or more places, fitted so that the sum of squared *relative* errors is least: a value that is
/// ten times as large may deviate ten times as much.
#[derive(Clone, Debug, PartialEq)]
pub struct LineFit {
    /// The value at x = 0, with its interval.
    pub intercept: Interval,
    /// The increase per unit of x, with its interval.
    pub slope: Interval,
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
    Some(LineFit {
        intercept: Interval::new(intercept, intercepts),
        slope: Interval::new(slope, slopes),
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
    }

    #[test]
    fn fit_line_absent_for_two_places() {
        assert_eq!(fit_line(&[(1.0, 2.0), (1.0, 3.0), (2.0, 4.0)], 1), None);
        assert_eq!(fit_line(&[(1.0, 2.0), (2.0, 0.0), (3.0, 4.0)], 1), None);
    }
}
