//! How narrow the intervals of one metric's medians are: what decides whether more blocks or runs are needed.

use metrics::{METRICS, RunView};
use model::plan::Plan;
use model::study::UntilInterval;
use serde_json::{Value, json};

use crate::log::Log;
use crate::number;
use crate::sorted::{CellRuns, Runs};

/// The widths of an execution's cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Precision {
    /// Metric whose medians they are of.
    pub metric: String,
    /// Width that was asked for, in per cent of the median.
    pub asked_pct: f64,
    /// Cells whose interval is not narrower, each with its width; absent where too few runs have a value. A cell whose
    /// runs all lack the metric is not waited for.
    pub wide: Vec<(String, Option<f64>)>,
}

impl Precision {
    pub(crate) fn of(rule: &UntilInterval, cells: &[(String, &CellRuns)], seed: u64) -> Precision {
        let index = METRICS.iter().position(|metric| metric.name == rule.metric);
        let wide = cells.iter().filter_map(|(name, runs)| {
            let values: Vec<f64> = runs.values(index?).iter().map(|(_, value)| *value).collect();
            if values.is_empty() && runs.count() > 0 {
                return None;
            }
            let width = width_pct(&values, seed);
            let is_narrow = width.is_some_and(|width| width < rule.width_pct);
            (!is_narrow).then(|| (name.clone(), width))
        });
        Precision { metric: rule.metric.clone(), asked_pct: rule.width_pct, wide: wide.collect() }
    }

    /// What the runs that were read so far give.
    pub(crate) fn of_log(rule: &UntilInterval, mut log: Log, plan: &Plan) -> Precision {
        let blocks = log.enough_blocks.unwrap_or(plan.blocks);
        let runs = Runs::sort(plan, &mut log, blocks);
        let cells: Vec<(String, &CellRuns)> = plan.cells.iter().map(|cell| cell.name()).zip(&runs.cells).collect();
        Precision::of(rule, &cells, plan.seed)
    }

    /// True where no cell needs more runs.
    pub fn is_reached(&self) -> bool {
        self.wide.is_empty()
    }

    /// One sentence: reached, or where not.
    pub fn sentence(&self) -> String {
        let asked = format!("95 % interval of the median of {} narrower than {} %", self.metric, self.asked_pct);
        if self.is_reached() {
            return format!("{asked}: reached in every cell");
        }
        let wide = self.wide.iter().map(|(name, width)| match width {
            Some(width) => format!("{name}: {} %", number::plain(*width)),
            None => format!("{name}: too few runs"),
        });
        format!("{asked}: not reached ({})", wide.collect::<Vec<_>>().join("; "))
    }

    pub(crate) fn json(&self) -> Value {
        let wide = self.wide.iter().map(|(name, width)| match width {
            Some(width) => json!({ "cell": name, "width_pct": width }),
            None => json!({ "cell": name }),
        });
        json!({
            "metric": self.metric,
            "asked_pct": self.asked_pct,
            "reached": self.is_reached(),
            "wide": wide.collect::<Vec<_>>(),
        })
    }
}

/// The width of the 95 % interval of the median, in per cent of the median; absent with fewer than two values, and
/// where the median is 0 and the bounds are not.
pub fn width_pct(values: &[f64], seed: u64) -> Option<f64> {
    let interval = stats::median_interval(values, seed)?;
    let width = interval.high? - interval.low?;
    if width == 0.0 { Some(0.0) } else { Some(100.0 * width / interval.value.abs()).filter(|width| width.is_finite()) }
}

/// As `width_pct`, a metric over runs; a run without the metric has no part in it.
pub fn width_over_runs_pct(runs: &[RunView], metric: &str) -> Option<f64> {
    let metric = metrics::metric(metric)?;
    let values: Vec<f64> = runs.iter().filter_map(|run| (metric.compute)(run)).collect();
    width_pct(&values, 0)
}
