//! The figures of one cell.

use std::collections::{BTreeMap, HashMap};

use bitcost_model::study::{Label, phrase};
use bitcost_stats::{Interval, Spread};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::{Method, SoftirqMeans};
use bitcost_model::as_map::as_map;

pub const RECEIVE_DEMAND: &str = "receive_service_demand_us_per_kib";

/// Name of the only line of a curve, where no other factor names it.
pub const ALONE: &str = "all";

/// A figure of a cell. Bounds are absent where it is of one run whose program gives none, or of a pair of a mesh, and of
/// a mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// The median of the runs.
    pub median: f64,
    /// The lower bound of its interval, of 95 % unless `level_pct` names another level.
    pub low: Option<f64>,
    /// The upper bound of that interval.
    pub high: Option<f64>,
    /// The confidence level of the interval where a single run's program gives it, in per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level_pct: Option<f64>,
    /// Number of runs that have the metric.
    pub runs: usize,
    /// The mean of the runs.
    pub mean: Option<f64>,
    /// Their standard deviation.
    pub standard_deviation: Option<f64>,
    /// The least value.
    pub least: Option<f64>,
    /// The largest value.
    pub largest: Option<f64>,
}

impl Figure {
    pub(super) fn new(found: Interval, level_pct: Option<f64>, spread: Spread) -> Figure {
        let of_several = |value: f64| (spread.count > 1).then_some(value);
        Figure {
            median: found.value,
            low: found.low,
            high: found.high,
            level_pct,
            runs: spread.count,
            mean: of_several(spread.mean),
            standard_deviation: spread.deviation,
            least: of_several(spread.least),
            largest: of_several(spread.largest),
        }
    }
}

/// A cell: its levels, and under the name of each metric its figure.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CellSummary {
    /// The level of each factor.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, Label>")]
    pub levels: Vec<(String, Label)>,
    /// Number of runs that the figures come from.
    pub runs: usize,
    /// The figure of each metric.
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, Figure>")]
    pub figures: BTreeMap<&'static str, Figure>,
    /// The author's figures, by metric.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, f64>>")]
    pub expected: Vec<(String, f64)>,
    /// How CPU time was attributed, and in how many runs.
    #[serde(rename = "attribution", serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, usize>")]
    pub methods: Vec<(Method, usize)>,
    /// By which means the time of soft interrupts is known, and in how many runs.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, usize>>")]
    pub softirqs: Vec<(SoftirqMeans, usize)>,
    /// Why CPU time was not attributed, and in how many runs.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, usize>>")]
    pub unattributed: Vec<(String, usize)>,
}

impl CellSummary {
    /// The median of a metric with its interval.
    pub fn figure(&self, name: &str) -> Option<Interval> {
        let figure = self.figures.get(name)?;
        Some(Interval {
            value: figure.median,
            low: figure.low,
            high: figure.high,
        })
    }

    /// The confidence level that the program of a single run gives its intervals, in per cent.
    pub fn given_level_pct(&self) -> Option<f64> {
        self.figures.values().find_map(|figure| figure.level_pct)
    }

    pub fn has_bounds(&self) -> bool {
        self.figures.values().any(|figure| figure.low.is_some())
    }

    pub fn expected(&self, name: &str) -> Option<f64> {
        let of = self.expected.iter().find(|(known, _)| known == name);
        of.map(|(_, value)| *value)
    }

    /// The levels in one short phrase: `1024 · UDP`.
    pub fn name(&self) -> String {
        phrase(&self.levels)
    }

    pub fn number(&self, factor: &str) -> Option<i64> {
        match self.levels.iter().find(|(name, _)| name == factor)? {
            (_, Label::Number(number)) => Some(*number),
            (_, Label::Text(_)) => None,
        }
    }

    /// The levels of the other factors in one phrase; [`ALONE`] where there are none.
    pub fn name_without(&self, factor: &str) -> String {
        let others = self.levels.iter().filter(|(name, _)| name != factor);
        named(&others.cloned().collect::<Vec<_>>())
    }
}

/// Levels in one phrase; [`ALONE`] where there are none.
pub(crate) fn named(levels: &[(String, Label)]) -> String {
    match levels {
        [] => ALONE.to_owned(),
        levels => phrase(levels),
    }
}

/// The index of each cell by its levels, in the order of their factors' names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(HashMap<Vec<(String, Label)>, usize>);

impl Places {
    pub fn of(cells: &[CellSummary]) -> Places {
        let place = |(place, cell): (usize, &CellSummary)| (sorted(&cell.levels), place);
        Places(cells.iter().enumerate().rev().map(place).collect())
    }

    /// The index of the first of the same cells that has these levels.
    pub fn index(&self, cells: &[CellSummary], levels: &[(String, Label)]) -> Option<usize> {
        match cells.first()?.levels.len() == levels.len() {
            true => self.0.get(&sorted(levels)).copied(),
            false => cells.iter().position(|cell| has(&cell.levels, levels)),
        }
    }
}

fn sorted(levels: &[(String, Label)]) -> Vec<(String, Label)> {
    let mut sorted = levels.to_vec();
    sorted.sort();
    sorted
}

pub fn has(levels: &[(String, Label)], wanted: &[(String, Label)]) -> bool {
    wanted.iter().all(|level| levels.contains(level))
}

/// The least number of runs whose interval reaches 95 %; with fewer it is from the least to the most.
pub const COVERED_FROM: usize = 6;

/// In how many of 100 cases the interval of the median of this number of runs contains the true
/// median: all runs are on one side of it with a probability of 2^(1 - runs).
pub fn coverage_pct(runs: usize) -> f64 {
    match runs {
        0 | 1 => 0.0,
        runs if runs >= COVERED_FROM => 95.0,
        runs => 100.0 - 100.0 * 2.0_f64.powi(1 - runs as i32),
    }
}
