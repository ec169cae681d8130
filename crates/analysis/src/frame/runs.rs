//! One row per planned run.

use std::collections::HashSet;

use crate::metrics::{METRICS, Metric};

use super::table::{Table, Value, factors, levels};
use crate::cells::RunRow;
use crate::findings::Findings;

/// The columns before those of factors; [`STATE`] has the columns between factors and metrics.
const HEAD: [&str; 5] = ["execution", "study", "run", "block", "cell"];
const STATE: [&str; 4] = ["status", "reason", "began_at", "attribution"];

/// Every planned run of the executions, in order: the columns that identify it, its levels, what
/// became of it, and every metric that one of the runs has, under the metric's name. Runs, blocks
/// and cells are numbered from 1, as for people.
pub fn runs_table(executions: &[Findings]) -> Table {
    let rows = RunRows::new(executions);
    Table {
        rows: rows.iter().collect(),
        columns: rows.columns,
    }
}

/// The rows of [`runs_table`], made one at a time.
pub struct RunRows<'e> {
    /// The columns' names.
    pub columns: Vec<String>,
    executions: &'e [Findings],
    factors: Vec<(String, String)>,
    metrics: Vec<&'static Metric>,
}

impl<'e> RunRows<'e> {
    /// The rows of these executions.
    pub fn new(executions: &'e [Findings]) -> RunRows<'e> {
        let taken = |name: &str| {
            HEAD.iter().chain(&STATE).any(|known| *known == name)
                || crate::metrics::metric(name).is_some()
        };
        let factors = factors(executions, &taken);
        let metrics = present(executions);
        let names = HEAD
            .into_iter()
            .chain(factors.iter().map(|(_, column)| column.as_str()))
            .chain(STATE);
        let columns = names
            .chain(metrics.iter().map(|metric| metric.name))
            .map(str::to_owned)
            .collect();
        RunRows {
            columns,
            executions,
            factors,
            metrics,
        }
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Vec<Value>> {
        let of = move |execution: &'e Findings| {
            execution
                .summary
                .runs
                .iter()
                .map(move |run| self.row(execution, run))
        };
        self.executions.iter().flat_map(of)
    }

    fn row(&self, execution: &Findings, run: &RunRow) -> Vec<Value> {
        let mut row = vec![
            Value::from(execution.name.as_str()),
            Value::from(execution.summary.study.name.as_str()),
            Value::from(run.run + 1),
            Value::from(run.block + 1),
            Value::Whole(run.cell as i64 + 1),
        ];
        row.extend(levels(execution, run.cell, &self.factors));
        row.push(Value::from(run.status.name()));
        row.push(Value::from(run.reason.as_deref()));
        row.push(Value::from(run.began_at.as_deref()));
        row.push(Value::from(run.method.map(|method| method.name())));
        // Both lists are in the order of the table of metrics.
        let mut figures = run.figures.iter().peekable();
        let mut next = |metric: &Metric| figures.next_if(|(known, _)| known.name == metric.name);
        let metrics = self.metrics.iter();
        row.extend(metrics.map(|metric| Value::from(next(metric).map(|(_, value)| value))));
        row
    }
}

/// The metrics that at least one run has.
fn present(executions: &[Findings]) -> Vec<&'static Metric> {
    let figures = executions
        .iter()
        .flat_map(|execution| &execution.summary.runs)
        .flat_map(|run| run.figures.iter());
    let has: HashSet<&str> = figures.map(|(metric, _)| metric.name).collect();
    METRICS
        .iter()
        .filter(|metric| has.contains(metric.name))
        .collect()
}
