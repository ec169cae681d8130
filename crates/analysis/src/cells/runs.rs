//! The used runs of a cell, and its figures.

use bitcost_model::study::Cell;
use bitcost_stats::{Interval, Spread, median};
use bitcost_study::Study;
use bitcost_study::check::Levels;

use super::cell::{COVERED_FROM, CellSummary, Figure, has};
use super::row::{RunRow, used_by_cell};
use crate::metrics::{FULL_PACKETS, METRICS, Metric, place_of};

/// A cell with its used runs, in order.
pub(crate) struct CellRuns<'a> {
    pub levels: &'a Levels,
    pub name: String,
    rows: Vec<&'a RunRow>,
}

impl<'a> CellRuns<'a> {
    pub fn all(cells: &'a [Cell], rows: &'a [RunRow]) -> Vec<CellRuns<'a>> {
        let used = used_by_cell(rows, cells.len());
        let of = |(cell, rows): (&'a Cell, _)| CellRuns {
            levels: &cell.levels,
            name: cell.name(),
            rows,
        };
        cells.iter().zip(used).map(of).collect()
    }

    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// Block and value of a metric, of each run that has it.
    pub fn values(&self, metric: &str) -> Vec<(u32, f64)> {
        place_of(metric).map_or_else(Vec::new, |place| self.at(place))
    }

    fn at(&self, place: usize) -> Vec<(u32, f64)> {
        let rows = self.rows.iter();
        rows.filter_map(|row| Some((row.block, row.figures.at(place)?)))
            .collect()
    }

    /// The interval of the figure of a single run, and its level where another program gives it.
    fn given(&self, metric: &str, value: f64) -> Option<(Interval, Option<f64>)> {
        let [run] = &self.rows[..] else { return None };
        if let Some(single) = run.singles.get(metric) {
            return Some((single.interval(), None));
        }
        let half = value * run.widths_pct.get(metric)? / 200.0;
        let (low, high) = (Some(value - half), Some(value + half));
        Some((Interval { value, low, high }, run.level_pct))
    }

    /// The figures of the cell; where it is a pair of many hosts, medians without intervals. A share that is nearly all or
    /// nothing in each run has its mean.
    pub fn summary(&self, study: &Study, seed: u64) -> CellSummary {
        let figure = |(place, metric): (usize, &Metric)| {
            let values: Vec<f64> = self.at(place).iter().map(|(_, value)| *value).collect();
            let spread = bitcost_stats::spread(&values)?;
            let (found, level_pct) = match metric.name == FULL_PACKETS {
                true => (Interval::alone(spread.mean), None),
                false if study.mesh.is_some() => (Interval::alone(median(&values)?), None),
                false => match self.given(metric.name, spread.mean) {
                    Some(given) => given,
                    None => (interval(&values, spread, seed)?, None),
                },
            };
            Some((metric.name, Figure::new(found, level_pct, spread)))
        };
        let expected = study.expect.iter().flat_map(|expect| &expect.cells);
        let expected = expected.filter(|cell| has(self.levels, &cell.levels));
        let rows = || self.rows.iter();
        CellSummary {
            levels: self.levels.clone(),
            runs: self.count(),
            figures: METRICS.iter().enumerate().filter_map(figure).collect(),
            expected: expected.flat_map(|cell| cell.figures.clone()).collect(),
            methods: tally(rows().filter_map(|row| row.method)),
            softirqs: tally(rows().filter_map(|row| row.softirqs)),
            unattributed: tally(rows().filter_map(|row| row.told.as_ref()?.unattributed.clone())),
        }
    }
}

/// The median with its 95 % interval. Of up to five runs over 5 % of the resamples have the least value as their median,
/// and as many the largest: these are the bounds, without resampling.
fn interval(values: &[f64], spread: Spread, seed: u64) -> Option<Interval> {
    match spread.count {
        2..COVERED_FROM => Some(Interval {
            value: median(values)?,
            low: Some(spread.least),
            high: Some(spread.largest),
        }),
        _ => bitcost_stats::median_interval(values, seed),
    }
}

/// How often each thing occurs, in the order of their first appearance.
fn tally<T: PartialEq>(things: impl Iterator<Item = T>) -> Vec<(T, usize)> {
    let mut tally: Vec<(T, usize)> = Vec::new();
    for thing in things {
        match tally.iter_mut().find(|(known, _)| *known == thing) {
            Some((_, count)) => *count += 1,
            None => tally.push((thing, 1)),
        }
    }
    tally.shrink_to_fit();
    tally
}
