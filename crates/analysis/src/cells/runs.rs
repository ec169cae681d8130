//! The runs of a cell, and its figures.

use std::collections::BTreeMap;

use bitcost_model::study::{Cell, Label};
use bitcost_stats::Interval;

use super::cell::{CellSummary, Figure};
use super::row::RunRow;
use crate::explain::{Regime, Regimes};
use crate::log::{Reduced, TimeSeries};
use crate::metrics::{FULL_PACKETS, Figures, METRICS, Metric};

pub(crate) struct CellRuns {
    /// The cell, still without figures.
    cell: CellSummary,
    /// The block and the figures of each run, and whether it is of the cell's main regime.
    runs: Vec<(u32, Figures, bool)>,
    has_full_packets: Option<bool>,
    time_series: Vec<(f64, TimeSeries)>,
}

impl CellRuns {
    /// A cell whose runs, each given by its number from 1, have these regimes, still without them.
    pub fn new(cell: &Cell, regimes: &[(u64, Vec<Regime>)]) -> CellRuns {
        let parts: Vec<&Regime> = regimes.iter().flat_map(|(_, parts)| parts).collect();
        let full = parts.iter().filter(|part| part.is_full).count();
        CellRuns {
            cell: CellSummary {
                levels: cell.levels.clone(),
                runs: 0,
                regimes: Regimes::of(regimes),
                figures: BTreeMap::new(),
                expected: Vec::new(),
                methods: Vec::new(),
                softirqs: Vec::new(),
                unattributed: Vec::new(),
                disturbed: 0,
                emulator_troubled: 0,
            },
            runs: Vec::new(),
            has_full_packets: (!parts.is_empty()).then_some(2 * full > parts.len()),
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

    /// Block and value of the metric at this place of [`METRICS`]: of the runs of the main regime, and the share of
    /// full packets of all.
    pub fn values(&self, metric: usize) -> Vec<(u32, f64)> {
        let is_of_all = METRICS[metric].name == FULL_PACKETS;
        let runs = self.runs.iter();
        let runs = runs.filter(|(.., is_main)| *is_main || is_of_all);
        runs.filter_map(|(block, figures, _)| Some((*block, figures.at(metric)?)))
            .collect()
    }

    /// The time series of the run with the median throughput, or with the next lower one.
    pub fn middle(&self) -> Option<TimeSeries> {
        let mut order: Vec<&(f64, TimeSeries)> = self.time_series.iter().collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let middle = order.get(order.len().checked_sub(1)? / 2)?;
        Some(middle.1.clone())
    }

    /// The figures of the cell; where it is a pair of many hosts, or each run had both regimes, medians without
    /// intervals. A share that is nearly all or nothing in each run has its mean.
    pub fn summary(&self, is_pair: bool, seed: u64) -> CellSummary {
        let both = self.cell.regimes.as_ref();
        let is_mixed = both.is_some_and(|both| both.main().is_none());
        let figure = |(place, metric): (usize, &Metric)| {
            let values: Vec<f64> = self.values(place).iter().map(|(_, value)| *value).collect();
            let spread = bitcost_stats::spread(&values)?;
            let found = match metric.name == FULL_PACKETS {
                true => Interval::alone(spread.mean),
                false if is_pair || is_mixed => Interval::alone(bitcost_stats::median(&values)?),
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

    /// Whether this run is of the regime of the cell's figures, and whether it had full packets.
    pub fn regime_of(&self, run: u32) -> (bool, Option<bool>) {
        let run = u64::from(run) + 1;
        match &self.cell.regimes {
            Some(both) => {
                let is_main = both.main().is_none_or(|main| main.runs.contains(&run));
                (is_main, both.is_full(run))
            }
            None => (true, self.has_full_packets),
        }
    }

    /// Takes another program's run.
    pub fn imported(&mut self, row: &RunRow) {
        self.runs.push((row.block, row.figures.clone(), true));
    }

    pub fn used(&mut self, run: Reduced, row: &RunRow) {
        let figures = row.figures.clone();
        self.runs.push((row.block, figures, row.is_of_main_regime));
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
