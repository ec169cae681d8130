//! The figures of a run, in few bytes: a log may have 200 000 runs.

use super::table::{METRICS, Metric, place_of};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// A bit for each metric that is there, by its place in [`METRICS`].
    present: u128,
    values: Box<[f64]>,
}

impl Figures {
    pub fn of(value: impl Fn(&'static Metric) -> Option<f64>) -> Figures {
        assert!(
            METRICS.len() <= u128::BITS as usize,
            "a bit for each metric"
        );
        let mut present = 0;
        let there = METRICS.iter().enumerate().filter_map(|(place, metric)| {
            let value = value(metric)?;
            present |= 1 << place;
            Some(value)
        });
        let values = there.collect();
        Figures { present, values }
    }

    /// The value of the metric at this place of [`METRICS`].
    pub fn at(&self, place: usize) -> Option<f64> {
        let bit = 1_u128.checked_shl(place as u32)?;
        let before = (self.present & (bit - 1)).count_ones();
        (self.present & bit != 0).then(|| self.values[before as usize])
    }

    pub fn get(&self, name: &str) -> Option<f64> {
        self.at(place_of(name)?)
    }

    /// Each metric with its value, in the order of [`METRICS`].
    pub fn iter(&self) -> impl Iterator<Item = (&'static Metric, f64)> {
        let of = |(place, metric): (usize, &'static Metric)| Some((metric, self.at(place)?));
        METRICS.iter().enumerate().filter_map(of)
    }
}
