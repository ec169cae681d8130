//! The width of the intervals of one metric's medians, which decides whether more blocks or runs
//! are needed.

use bitcost_model::study::{Cell, UntilInterval};

use crate::cells::{CellRuns, Runs};
use crate::log::{LogError, Reader};
use crate::metrics::METRICS;

/// The widths of the intervals of an execution's cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Precision {
    /// The metric of the medians.
    pub metric: String,
    /// The requested width, in per cent of the median.
    pub asked_pct: f64,
    /// Cells whose interval is not narrower than requested, each with its width; the width is
    /// absent where too few runs have a value. Cells whose runs all lack the metric are left out.
    pub wide: Vec<(String, Option<f64>)>,
}

impl Precision {
    pub(crate) fn of(rule: &UntilInterval, cells: &[(String, &CellRuns)], seed: u64) -> Precision {
        let index = METRICS.iter().position(|metric| metric.name == rule.metric);
        let wide = cells.iter().filter_map(|(name, runs)| {
            let values: Vec<f64> = runs
                .values(index?)
                .iter()
                .map(|(_, value)| *value)
                .collect();
            if values.is_empty() && runs.count() > 0 {
                return None;
            }
            let width = width_pct(&values, seed);
            let is_narrow = width.is_some_and(|width| width < rule.width_pct);
            (!is_narrow).then(|| (name.clone(), width))
        });
        Precision {
            metric: rule.metric.clone(),
            asked_pct: rule.width_pct,
            wide: wide.collect(),
        }
    }

    /// The precision of the runs that a reader took so far.
    ///
    /// # Errors
    /// As [`Reader::finish`].
    pub fn from_reader(rule: &UntilInterval, reader: Reader) -> Result<Precision, LogError> {
        let (mut log, plan) = reader.finish()?;
        let blocks = log.enough_blocks.unwrap_or(plan.blocks);
        let runs = Runs::sort(&plan, &mut log, blocks);
        let cells: Vec<_> = plan.cells.iter().map(Cell::name).zip(&runs.cells).collect();
        Ok(Precision::of(rule, &cells, plan.seed))
    }

    /// True if no cell needs more runs.
    pub fn is_reached(&self) -> bool {
        self.wide.is_empty()
    }
}

/// The width of the 95 % interval of the median, in per cent of the median; absent with fewer than
/// two values, and where the median is 0 and the bounds are not.
pub fn width_pct(values: &[f64], seed: u64) -> Option<f64> {
    let interval = bitcost_stats::median_interval(values, seed)?;
    let width = interval.high? - interval.low?;
    if width == 0.0 {
        Some(0.0)
    } else {
        Some(100.0 * width / interval.value.abs()).filter(|width| width.is_finite())
    }
}
