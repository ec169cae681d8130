//! The runs of a cell, and its figures.

use std::collections::BTreeMap;

use bitcost_model::study::{Cell, Label};
use bitcost_stats::Interval;

use super::cell::{CellSummary, Figure};
use super::row::RunRow;
use crate::log::{Reduced, TimeSeries};
use crate::metrics::{FULL_PACKETS, Figures, METRICS, Metric};

pub(crate) struct CellRuns {
    /// The cell, still without figures.
    cell: CellSummary,
    /// The block and the figures of each run.
    runs: Vec<(u32, Figures)>,
    time_series: Vec<(f64, TimeSeries)>,
}

impl CellRuns {
    /// A cell, still without its runs.
    pub fn new(cell: &Cell) -> CellRuns {
        CellRuns {
            cell: CellSummary {
                levels: cell.levels.clone(),
                runs: 0,
                figures: BTreeMap::new(),
                expected: Vec::new(),
                methods: Vec::new(),
                softirqs: Vec::new(),
                unattributed: Vec::new(),
                disturbed: 0,
                emulator_troubled: 0,
            },
            runs: Vec::new(),
            time_series: Vec::new(),
        }
    }

    pub fn name(&self) -> String {
        self.cell.name()
    }

    pub fn levels(&self) -> &Vec<(String, Label)> {
        &self.cell.levels
    }

    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// Block and value of the metric at this place of [`METRICS`].
    pub fn values(&self, metric: usize) -> Vec<(u32, f64)> {
        let runs = self.runs.iter();
        runs.filter_map(|(block, figures)| Some((*block, figures.at(metric)?)))
            .collect()
    }

    /// The time series of the run with the median throughput, or with the next lower one.
    pub fn middle(&self) -> Option<TimeSeries> {
        let mut order: Vec<&(f64, TimeSeries)> = self.time_series.iter().collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let middle = order.get(order.len().checked_sub(1)? / 2)?;
        Some(middle.1.clone())
    }

    /// The figures of the cell; where it is a pair of many hosts, medians without intervals. A share that is nearly all or nothing in each run has its mean.
    pub fn summary(&self, is_pair: bool, seed: u64) -> CellSummary {
        let figure = |(place, metric): (usize, &Metric)| {
            let values: Vec<f64> = self.values(place).iter().map(|(_, value)| *value).collect();
            let spread = bitcost_stats::spread(&values)?;
            let found = match metric.name == FULL_PACKETS {
                true => Interval::alone(spread.mean),
                false if is_pair => Interval::alone(bitcost_stats::median(&values)?),
                false => bitcost_stats::median_interval(&values, seed)?,
            };
            Some((metric.name, Figure::new(found, spread)))
        };
        CellSummary {
            runs: self.count(),
            figures: METRICS.iter().enumerate().filter_map(figure).collect(),
            ..self.cell.clone()
        }
    }

    /// Takes another program's run.
    pub fn imported(&mut self, row: &RunRow) {
        self.runs.push((row.block, row.figures.clone()));
    }

    pub fn used(&mut self, run: Reduced, row: &RunRow) {
        self.runs.push((row.block, row.figures.clone()));
        match run.method {
            Ok(method) => count(&mut self.cell.methods, method),
            Err(reason) => count(&mut self.cell.unattributed, reason.0),
        }
        if let Some(means) = run.softirqs {
            count(&mut self.cell.softirqs, means);
        }
        let series = run.time_series.into_iter();
        let series = series.map(|series| (series.mbps[1].unwrap_or(0.0), *series));
        self.time_series.extend(series);
        self.cell.disturbed += run.disturbances;
        self.cell.emulator_troubled += usize::from(run.emulator_trouble.is_some());
    }
}

/// Counts a thing once more, in the order of their first appearance.
fn count<T: PartialEq>(tally: &mut Vec<(T, usize)>, thing: T) {
    match tally.iter_mut().find(|(known, _)| *known == thing) {
        Some((_, count)) => *count += 1,
        None => tally.push((thing, 1)),
    }
}
