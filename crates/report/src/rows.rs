//! Each planned run by itself: what became of it, and its figures.

use metrics::{METRICS, Method, Metric, RunView};

/// What became of a planned run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has its place in its cell.
    Used,
    /// It has a result that has no place in its cell.
    LeftOut,
    /// An end died, hung, or could not do what was asked.
    Failed,
    /// An end could not be reached any more.
    Lost,
    /// It was stopped.
    Interrupted,
    /// It has not been tried.
    Missing,
}

impl Status {
    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Status::Used => "used",
            Status::LeftOut => "left_out",
            Status::Failed => "failed",
            Status::Lost => "lost",
            Status::Interrupted => "interrupted",
            Status::Missing => "missing",
        }
    }
}

/// One planned run.
#[derive(Clone, Debug)]
pub struct RunRow {
    /// Its place in the order, from 0.
    pub run: u32,
    /// Its block, from 0.
    pub block: u32,
    /// Its cell, by place in [`crate::Summary::cells`].
    pub cell: usize,
    /// What became of it.
    pub status: Status,
    /// Why it has no place in its cell.
    pub reason: Option<String>,
    /// Local time of its begin, with offset (RFC 3339).
    pub began_at: Option<String>,
    /// How the ends' CPU time was told apart.
    pub method: Option<Method>,
    /// Whether something else than bitcost took much of the CPUs' time ([`metrics::foreign_pct`]).
    pub is_disturbed: bool,
    /// The metrics that it has, in the order of [`METRICS`].
    pub figures: Vec<(&'static Metric, f64)>,
    /// The place of the event that holds its outcome ([`model::event::Events::each`]).
    pub event: Option<usize>,
}

impl RunRow {
    /// The value of a metric.
    pub fn value(&self, metric: &Metric) -> Option<f64> {
        self.figures.iter().find(|(known, _)| known.name == metric.name).map(|(_, value)| *value)
    }

    /// The value, where the run has its place in its cell.
    pub fn used_value(&self, metric: &Metric) -> Option<f64> {
        if self.status == Status::Used { self.value(metric) } else { None }
    }
}

/// Every metric that a run has.
pub(crate) fn figures(view: &RunView) -> Vec<(&'static Metric, f64)> {
    METRICS.iter().filter_map(|metric| Some((metric, (metric.compute)(view)?))).collect()
}
