//! One row per planned run.

use std::collections::HashSet;

use serde_json::Value;

use super::table::Head;
use crate::cells::RunRow;
use crate::findings::Findings;
use crate::metrics::{METRICS, Metric};

/// The columns between factors and metrics.
const STATE: [&str; 4] = ["status", "reason", "began_at", "attribution"];

/// Every planned run of the executions, in order: the columns that identify it, its levels, what
/// became of it, and every metric that one of the runs has, under the metric's name. Runs, blocks
/// and cells are numbered from 1, as for people. They are made one at a time.
pub struct RunRows<'e> {
    pub columns: Vec<String>,
    executions: &'e [Findings],
    head: Head,
    /// With their places in [`METRICS`].
    metrics: Vec<(usize, &'static Metric)>,
}

impl<'e> RunRows<'e> {
    pub fn new(executions: &'e [Findings]) -> RunRows<'e> {
        let head = Head::of(executions, |name| {
            STATE.contains(&name) || crate::metrics::metric(name).is_some()
        });
        let runs = executions.iter().flat_map(|of| &of.summary.runs);
        let figures = runs.flat_map(|run| run.figures.iter());
        let has: HashSet<&str> = figures.map(|(metric, _)| metric.name).collect();
        let metrics = METRICS.iter().enumerate();
        let metrics = metrics.filter(|(_, metric)| has.contains(metric.name));
        let metrics: Vec<(usize, &Metric)> = metrics.collect();
        let names = metrics.iter().map(|(_, metric)| metric.name);
        let names = STATE.into_iter().chain(names).map(str::to_owned);
        RunRows {
            columns: head.columns().chain(names).collect(),
            executions,
            head,
            metrics,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Vec<Value>> {
        let of = move |execution: &'e Findings| {
            let runs = execution.summary.runs.iter();
            runs.map(move |run| self.row(execution, run))
        };
        self.executions.iter().flat_map(of)
    }

    fn row(&self, execution: &Findings, run: &RunRow) -> Vec<Value> {
        let mut row = self.head.values(execution, run);
        row.push(Value::from(run.status.name()));
        row.push(Value::from(run.reason.as_deref()));
        row.push(Value::from(run.began_at.as_deref()));
        row.push(Value::from(run.method.map(|method| method.name())));
        let metrics = self.metrics.iter();
        row.extend(metrics.map(|(place, _)| Value::from(run.figures.at(*place))));
        row
    }
}
