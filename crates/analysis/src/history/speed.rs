//! The speed of the CPUs as a covariate: what of a metric's variation it explains.

use bitcost_stats::median;

use crate::cells::RunRow;
use crate::metrics::{Better, Metric, SPEED, metric};

pub(super) type Cells<'a> = Vec<Vec<&'a RunRow>>;

/// Divides values by the relative speed of their runs.
#[derive(Clone, Debug)]
pub(super) struct Speed {
    /// The change of the metric's logarithm with that of the loop's time: from −1, in proportion to the speed, to 1, in
    /// proportion to the time; 0 where the metric does not depend on it.
    pub slope: f64,
    /// For each cell, the logarithm of the loop's median time.
    usual: Vec<Option<f64>>,
}

impl Speed {
    /// The slope over the runs of all cells, each relative to its cell's medians, limited to what is physically possible: a
    /// throughput cannot fall by more than the speed, nor a time rise by more. It is 0 where the metric has no better side, and where the speed is not to be used.
    pub fn of(metric: &'static Metric, cells: &[Cells], is_known: bool) -> Speed {
        let usual: Vec<Option<f64>> = cells.iter().map(|cell| middle(cell, time)).collect();
        let (mut common, mut squares) = (0.0, 0.0);
        for (cell, usual_time) in cells.iter().zip(&usual) {
            let value = |run: &RunRow| logarithm(run, metric);
            let Some((usual_time, usual_value)) = usual_time.zip(middle(cell, value)) else {
                continue;
            };
            for run in cell.iter().flatten() {
                if let Some((time, value)) = time(run).zip(value(run)) {
                    common += (time - usual_time) * (value - usual_value);
                    squares += (time - usual_time).powi(2);
                }
            }
        }
        let (least, most) = match metric.better {
            Better::Higher if is_known => (-1.0, 0.0),
            Better::Lower if is_known => (0.0, 1.0),
            _ => (0.0, 0.0),
        };
        let slope = if squares > 0.0 { common / squares } else { 0.0 };
        Speed {
            slope: slope.clamp(least, most),
            usual,
        }
    }

    /// The logarithm of a run's value at its cell's usual speed.
    pub fn adjusted(&self, cell: usize, run: &RunRow, metric: &Metric) -> Option<f64> {
        let slower = time(run)
            .zip(self.usual[cell])
            .map_or(0.0, |(time, usual)| time - usual);
        Some(logarithm(run, metric)? - self.slope * slower)
    }
}

/// The logarithm of the time of the fixed loop.
pub(super) fn time(run: &RunRow) -> Option<f64> {
    logarithm(run, metric(SPEED)?)
}

fn logarithm(run: &RunRow, metric: &Metric) -> Option<f64> {
    let value = run.used_value(metric)?;
    (value > 0.0).then(|| value.ln())
}

fn middle(cell: &Cells, of: impl Fn(&RunRow) -> Option<f64>) -> Option<f64> {
    let all = cell.iter().flatten();
    median(&all.filter_map(|run| of(run)).collect::<Vec<_>>())
}
