//! An axis: from values to places, and round numbers along it.

use bitcost_study::Scale;

/// The ratio of the largest to the smallest value from which an axis is logarithmic.
const LOGARITHMIC: f64 = 8.0;

/// About the number of round numbers along an axis.
const TICKS: f64 = 6.0;

/// The room for a word after the numbers, as a share of theirs.
const BEYOND: f64 = 0.1;

/// The most values that an axis names individually.
const NAMED: usize = 14;

/// From a value to a place between 0 and 1.
#[derive(Debug, Default)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
    /// Values that are written at the axis, with their labels.
    pub ticks: Vec<(f64, String)>,
    /// Places of words after the largest number.
    pub names: Vec<(f64, String)>,
}

impl Axis {
    /// An axis with this scale; without one it is logarithmic if its values span a wide range. Bounds of the values are
    /// on it as well.
    pub fn along(scale: Option<Scale>, values: &[f64], bounds: &[f64]) -> Axis {
        let finite = |of: &[f64]| {
            of.iter()
                .copied()
                .filter(|value| value.is_finite())
                .collect()
        };
        let (values, mut all): (Vec<f64>, Vec<f64>) = (finite(values), finite(bounds));
        all.extend(&values);
        let (low, high) = range(values);
        let is_wide = low > 0.0 && high / low >= LOGARITHMIC;
        let is_log = scale.map_or(is_wide, |scale| scale == Scale::Log);
        all.retain(|value| !is_log || *value > 0.0);
        let (least, most) = range(all);
        match (is_log, least <= most) {
            (_, false) => Axis::linear(0.0, 1.0),
            (true, true) => Axis::logarithmic(least, most),
            (false, true) => Axis::linear(least, most),
        }
    }

    /// A linear axis that begins at 0.
    pub fn from_zero(values: &[f64]) -> Axis {
        Axis::along(Some(Scale::Linear), values, &[0.0])
    }

    /// An axis along the levels of a factor: if there are few numbers, each of them has its tick; words come after them.
    pub fn levels(scale: Option<Scale>, mut values: Vec<f64>, names: Vec<String>) -> Axis {
        values.sort_by(f64::total_cmp);
        values.dedup();
        let mut axis = Axis::along(scale, &values, &[]);
        values.retain(|value| !axis.is_log || *value > 0.0);
        if (1..=NAMED).contains(&values.len()) {
            (axis.low, axis.high) = range(values.iter().copied());
            axis.ticks = values
                .into_iter()
                .map(|value| (value, value.to_string()))
                .collect();
        }
        let (low, high) = (axis.low, axis.high);
        let beyond = |place: usize| match BEYOND * (place + 1) as f64 {
            share if axis.is_log => high * (high / low).powf(share),
            share => high + (high - low) * share,
        };
        let names = names.into_iter().enumerate();
        axis.names = names.map(|(place, name)| (beyond(place), name)).collect();
        axis.high = axis.names.last().map_or(high, |(value, _)| *value);
        axis.ticks.extend(axis.names.iter().cloned());
        axis
    }

    fn linear(low: f64, high: f64) -> Axis {
        // A single value is in the middle, and so are values too near to each other for a step.
        let (low, high) = if low < high && (high - low).is_normal() {
            (low, high)
        } else {
            let around = low.abs().max(1.0) / 10.0;
            (low - around, low + around)
        };
        let step = step((high - low) / TICKS);
        let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let tick = |place: i64| {
            let value = place as f64 * step;
            (value, format!("{value:.decimals$}"))
        };
        Axis {
            low: first as f64 * step,
            high: last as f64 * step,
            is_log: false,
            ticks: (first..=last).map(tick).collect(),
            names: Vec::new(),
        }
    }

    /// Ticks at 1, 2 and 5 of each decade; only at each decade if there are many.
    fn logarithmic(low: f64, high: f64) -> Axis {
        let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let is_wide = decades.clone().count() > 4;
        let factors: &[f64] = if is_wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let of_decade = |decade: i32| {
            factors.iter().map(move |factor| {
                let decimals = usize::try_from(-decade).unwrap_or(0);
                let value = factor * 10_f64.powi(decade);
                (value, format!("{value:.decimals$}"))
            })
        };
        let all: Vec<(f64, String)> = decades.flat_map(of_decade).collect();
        let first = all
            .iter()
            .rposition(|(value, _)| *value <= low)
            .unwrap_or(0);
        let last = all.iter().position(|(value, _)| *value >= high);
        let ticks = all[first..=last.unwrap_or(all.len() - 1)].to_vec();
        Axis {
            low: ticks[0].0,
            high: ticks[ticks.len() - 1].0,
            is_log: true,
            ticks,
            names: Vec::new(),
        }
    }

    /// The position of a value: 0 is the axis' start, 1 its end; none if the axis has no place for it.
    pub fn place(&self, value: f64) -> Option<f64> {
        if !value.is_finite() || (self.is_log && value <= 0.0) {
            return None;
        }
        let of = |value: f64| if self.is_log { value.ln() } else { value };
        let place = (of(value) - of(self.low)) / (of(self.high) - of(self.low));
        Some(if place.is_nan() {
            0.5
        } else {
            place.clamp(0.0, 1.0)
        })
    }
}

/// The least and the greatest of the values.
pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let wider = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
    values
        .into_iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), wider)
}

/// The smallest round number that is not below `least`: 1, 2 or 5 times a power of ten.
fn step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let mut factors = [1.0, 2.0, 5.0].into_iter();
    let factor = factors.find(|factor| factor * power >= least * 0.999);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(values: &[f64]) -> Vec<String> {
        let ticks = Axis::along(None, values, &[]).ticks.into_iter();
        ticks.map(|(_, words)| words).collect()
    }

    #[test]
    fn an_axis_ends_with_round_numbers() {
        assert_eq!(
            words(&[3120.0, 9800.0]),
            ["2000", "4000", "6000", "8000", "10000"]
        );
        assert_eq!(words(&[0.31, 4.2]), ["0.2", "0.5", "1", "2", "5"]);
        assert_eq!(words(&[1.0, 1_000_000.0]).len(), 7);
        let levels = Axis::levels(None, vec![8192.0, 1024.0, 1024.0], vec!["auto".to_owned()]);
        let places: Vec<f64> = levels.ticks.iter().map(|(value, _)| *value).collect();
        assert_eq!(places[..2], [1024.0, 8192.0]);
        assert_eq!(levels.place(places[2]), Some(1.0), "{levels:?}");
    }

    #[test]
    fn every_value_has_a_place_however_near_or_far_the_others_are() {
        for values in [[0.0, 5e-324], [-f64::MAX, f64::MAX], [1e300, 1e300]] {
            let axis = Axis::along(None, &values, &[]);
            assert!(axis.ticks.len() < 12, "{axis:?}");
        }
        assert_eq!(Axis::along(None, &[0.0], &[]).place(0.0), Some(0.5));
        let log = Axis::along(None, &[1.0, 100.0], &[]);
        let places = [1.0, 10.0, 100.0, 0.0, f64::NAN].map(|value| log.place(value));
        assert_eq!(places, [Some(0.0), Some(0.5), Some(1.0), None, None]);
    }
}
