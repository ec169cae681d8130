//! An axis: from values to places, and round numbers along it.

/// The ratio of the largest to the smallest value from which an axis is logarithmic.
pub(crate) const LOGARITHMIC: f64 = 8.0;

/// From a value to a place between 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    pub is_log: bool,
    /// Values that are written at the axis, with their labels.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis from the least to the greatest of the values, with each of them named.
    pub fn named(values: &[f64]) -> Axis {
        let (low, high) = range(values.iter().copied());
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let ticks = values
            .into_iter()
            .map(|value| (value, value.to_string()))
            .collect();
        Axis {
            low,
            high,
            is_log: is_log(low, high),
            ticks,
        }
    }

    /// A linear axis with about `ticks` round numbers, one at each end.
    pub fn linear(low: f64, high: f64, ticks: usize) -> Axis {
        // A single value is in the middle, and so are values too near to each other for a step.
        let (low, high) = if low < high && (high - low).is_normal() {
            (low, high)
        } else {
            (
                low - low.abs().max(1.0) / 10.0,
                low + low.abs().max(1.0) / 10.0,
            )
        };
        let step = step((high - low) / ticks.max(1) as f64);
        let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let tick = |place: i64| {
            (
                place as f64 * step,
                format!("{:.decimals$}", place as f64 * step),
            )
        };
        Axis {
            low: first as f64 * step,
            high: last as f64 * step,
            is_log: false,
            ticks: (first..=last).map(tick).collect(),
        }
    }

    /// Ticks at 1, 2 and 5 of each decade; only at each decade if there are many.
    pub fn logarithmic(low: f64, high: f64) -> Axis {
        let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let is_wide = decades.clone().count() > 4;
        let factors: &[f64] = if is_wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all: Vec<(f64, String)> = decades
            .flat_map(|decade| {
                factors.iter().map(move |factor| {
                    let decimals = usize::try_from(-decade).unwrap_or(0);
                    let value = factor * 10_f64.powi(decade);
                    (value, format!("{value:.decimals$}"))
                })
            })
            .collect();
        let first = all
            .iter()
            .rposition(|(value, _)| *value <= low)
            .unwrap_or(0);
        let last = all
            .iter()
            .position(|(value, _)| *value >= high)
            .unwrap_or(all.len() - 1);
        let ticks = all[first..=last].to_vec();
        let [low, high] = [ticks[0].0, ticks[ticks.len() - 1].0];
        Axis {
            low,
            high,
            is_log: true,
            ticks,
        }
    }

    /// The position of a value: 0 is the axis' start, 1 its end.
    pub fn place(&self, value: f64) -> f64 {
        let of = |value: f64| if self.is_log { value.ln() } else { value };
        let place = (of(value) - of(self.low)) / (of(self.high) - of(self.low));
        if place.is_nan() {
            0.5
        } else {
            place.clamp(0.0, 1.0)
        }
    }
}

fn is_log(low: f64, high: f64) -> bool {
    low > 0.0 && high / low >= LOGARITHMIC
}

/// The least and the greatest of the values.
pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let wider = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    values.into_iter().fold(none, wider)
}

/// The smallest round number that is not below `least`: 1, 2 or 5 times a power of ten.
fn step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| factor * power >= least * 0.999)
        .unwrap_or(10.0);
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With about four round numbers; logarithmic if the values span a wide range.
    fn round(values: &[f64]) -> Axis {
        let (low, high) = range(values.iter().copied());
        match is_log(low, high) {
            true => Axis::logarithmic(low, high),
            false => Axis::linear(low, high, 4),
        }
    }

    fn words(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, words)| words.as_str()).collect()
    }

    #[test]
    fn an_axis_ends_with_round_numbers() {
        assert_eq!(
            words(&round(&[3120.0, 9800.0])),
            ["2000", "4000", "6000", "8000", "10000"]
        );
        assert_eq!(
            words(&round(&[0.31, 0.42])),
            ["0.30", "0.35", "0.40", "0.45"]
        );
        assert_eq!(words(&round(&[0.31, 4.2])), ["0.2", "0.5", "1", "2", "5"]);
        assert_eq!(words(&round(&[1.0, 1_000_000.0])).len(), 7);
        assert_eq!(
            words(&Axis::named(&[8192.0, 1024.0, 1024.0])),
            ["1024", "8192"]
        );
    }

    #[test]
    fn values_without_a_step_between_them_have_an_axis() {
        for values in [[0.0, 5e-324], [-f64::MAX, f64::MAX], [1e300, 1e300]] {
            let axis = round(&values);
            assert!(axis.ticks.len() < 10, "{axis:?}");
        }
    }

    #[test]
    fn every_value_has_a_place() {
        let axis = round(&[7.0]);
        assert!(axis.place(7.0) > 0.0 && axis.place(7.0) < 1.0, "{axis:?}");
        assert_eq!(round(&[0.0]).place(0.0), 0.5);
        let log = round(&[1.0, 100.0]);
        assert_eq!(
            (log.place(1.0), log.place(10.0), log.place(100.0)),
            (0.0, 0.5, 1.0)
        );
        assert_eq!(log.place(0.0), 0.0);
    }
}
