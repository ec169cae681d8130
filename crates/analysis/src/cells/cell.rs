//! The figures of one cell.

use std::collections::HashMap;

use bitcost_model::study::{Label, phrase};
use bitcost_stats::{Interval, Spread};

use crate::explain::Regimes;
use crate::metrics::{Method, SoftirqMeans};

/// Name of the receive service demand by bytes received.
pub const RECEIVE_DEMAND: &str = "receive_service_demand_us_per_kib";

/// Name of the receive service demand by bytes sent, as netperf defines it.
pub const RECEIVE_DEMAND_BY_SENT: &str = "receive_service_demand_per_kib_sent_us";

/// Name of the only line of a curve, where no other factor names it.
pub const ALONE: &str = "all";

/// The figures of one cell.
#[derive(Clone, Debug)]
pub struct CellSummary {
    /// Factor and level.
    pub levels: Vec<(String, Label)>,
    /// Number of runs that the figures come from.
    pub runs: usize,
    /// Present where the runs had two regimes: the figures are of the runs of the main one.
    pub regimes: Option<Regimes>,
    /// Metric name, median over runs and its interval; metrics without values are absent.
    pub figures: Vec<(&'static str, Interval)>,
    /// Metric name and the spread of its values over runs, for the metrics of `figures`.
    pub spreads: Vec<(&'static str, Spread)>,
    /// Metric name and value as the question's author printed it.
    pub expected: Vec<(String, f64)>,
    /// How CPU time was attributed, and in how many runs.
    pub methods: Vec<(Method, usize)>,
    /// By which means the time of soft interrupts is known, and in how many runs: where the method
    /// uses it.
    pub softirqs: Vec<(SoftirqMeans, usize)>,
    /// Why CPU time was not attributed, and in how many runs.
    pub unattributed: Vec<(String, usize)>,
    /// Runs during which another program used the CPUs.
    pub disturbed: usize,
    /// Runs whose link emulator was late, or dropped packets that it should have carried.
    pub emulator_troubled: usize,
}

impl CellSummary {
    /// The figure of a metric.
    pub fn figure(&self, name: &str) -> Option<&Interval> {
        self.figures
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, interval)| interval)
    }

    /// The spread of a metric's values.
    pub fn spread(&self, name: &str) -> Option<&Spread> {
        self.spreads
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, spread)| spread)
    }

    /// The author's figure of a metric.
    pub fn expected(&self, name: &str) -> Option<f64> {
        self.expected
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| *value)
    }

    /// The levels in one short phrase: `1024 · UDP`.
    pub fn name(&self) -> String {
        phrase(&self.levels)
    }

    /// The level of a factor, where it is a number.
    pub fn number(&self, factor: &str) -> Option<i64> {
        self.levels
            .iter()
            .find(|(name, _)| name == factor)
            .and_then(|(_, label)| match label {
                Label::Number(number) => Some(*number),
                Label::Text(_) => None,
            })
    }

    /// The levels of the other factors in one phrase; [`ALONE`] where there are none.
    pub fn name_without(&self, factor: &str) -> String {
        let others: Vec<_> = self
            .levels
            .iter()
            .filter(|(name, _)| name != factor)
            .cloned()
            .collect();
        if others.is_empty() {
            ALONE.to_owned()
        } else {
            phrase(&others)
        }
    }
}

/// The index of each cell by its levels, in the order of their factors' names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(HashMap<Vec<(String, Label)>, usize>);

impl Places {
    /// The indices of these cells.
    pub fn of(cells: &[CellSummary]) -> Places {
        let place = |(place, cell): (usize, &CellSummary)| (sorted(&cell.levels), place);
        Places(cells.iter().enumerate().rev().map(place).collect())
    }

    /// The first of the same cells that has these levels.
    pub fn find<'a>(
        &self,
        cells: &'a [CellSummary],
        levels: &[(String, Label)],
    ) -> Option<&'a CellSummary> {
        cells.get(self.index(cells, levels)?)
    }

    /// Like [`Places::find`], but gives the cell's index.
    pub fn index(&self, cells: &[CellSummary], levels: &[(String, Label)]) -> Option<usize> {
        if cells.first()?.levels.len() == levels.len() {
            self.0.get(&sorted(levels)).copied()
        } else {
            cells.iter().position(|cell| has(&cell.levels, levels))
        }
    }
}

fn sorted(levels: &[(String, Label)]) -> Vec<(String, Label)> {
    let mut sorted = levels.to_vec();
    sorted.sort();
    sorted
}

/// Whether all wanted levels are among these levels.
pub fn has(levels: &[(String, Label)], wanted: &[(String, Label)]) -> bool {
    wanted.iter().all(|level| levels.contains(level))
}
