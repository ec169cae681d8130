//! The data frame that every table, file and picture is made from: one row per run, or one per stretch of a run, columns
//! named with their units.

mod delimited;
mod intervals;
mod markdown;
#[cfg(feature = "parquet")]
mod parquet;
mod runs;

use metrics::RunView;
use model::event::{Event, Events};
use model::imported::NOT_SAID;
use model::study::{Cell, Label};

use crate::log::PlaceFacts;
use crate::{RunRow, Summary};

pub use delimited::{csv, csv_of};
pub use intervals::intervals_table;
pub use intervals::{Stretch, stretches};
pub use markdown::{escape as escape_markdown, markdown};
#[cfg(feature = "parquet")]
pub use parquet::{ParquetError, parquet};
pub use runs::{RunRows, runs_table};

/// An execution with what it is called.
#[derive(Clone, Debug)]
pub struct Execution<'a> {
    /// Its name: that of its folder.
    pub name: String,
    /// Its log.
    pub events: Events<'a>,
    /// What the log tells.
    pub summary: Summary,
}

impl Execution<'_> {
    /// Hands over the wanted ones of the runs with a result of our own, one at a time, each with its row and its cell. Of a run
    /// that was tried again it is the last try.
    pub fn each_run(&self, wanted: impl Fn(&RunRow) -> bool, take: &mut dyn FnMut(&RunRow, &Cell, &RunView)) {
        let summary = &self.summary;
        let row = |run: u32| summary.runs.binary_search_by_key(&run, |row| row.run).ok().map(|at| &summary.runs[at]);
        let place = PlaceFacts::new(summary.shared_cpus, &summary.ends);
        self.events.each(&|run| row(run).is_some_and(&wanted), &mut |at, event| {
            let Event::RunEnded { run, sender, receiver, .. } = event else { return };
            let Some(row) = row(*run).filter(|row| row.event == Some(at)) else { return };
            let Some(cell) = summary.planned.get(row.cell) else { return };
            let ceiling = summary.calibration.as_ref().and_then(|found| found.of_cell(row.cell)?.mbps());
            take(row, cell, &place.view([sender, receiver], &cell.conditions, ceiling));
        });
    }
}

/// One entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not measured, or not known.
    Absent,
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// Words.
    Text(String),
}

impl From<Option<f64>> for Value {
    fn from(number: Option<f64>) -> Value {
        number.filter(|number| number.is_finite()).map_or(Value::Absent, Value::Number)
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Value {
        text.map_or(Value::Absent, |text| Value::Text(text.to_owned()))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Value {
        Value::Whole(number.into())
    }
}

impl From<&Label> for Value {
    fn from(label: &Label) -> Value {
        match label {
            Label::Number(number) => Value::Whole(*number),
            Label::Text(text) => Value::Text(text.clone()),
        }
    }
}

/// Named columns, and rows that each have an entry for every one of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// A table without rows.
    pub fn new<T: Into<String>>(columns: impl IntoIterator<Item = T>) -> Table {
        Table { columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// The table as a list of JSON objects; what has no value has no key.
    pub fn json(&self) -> serde_json::Value {
        let entry = |value: &Value| match value {
            Value::Absent => None,
            Value::Whole(number) => Some(serde_json::json!(number)),
            Value::Number(number) => Some(serde_json::json!(number)),
            Value::Text(text) => Some(serde_json::json!(text)),
        };
        let row = |row: &Vec<Value>| {
            let entries = self.columns.iter().zip(row);
            let object = entries.filter_map(|(name, value)| Some((name.clone(), entry(value)?)));
            serde_json::Value::Object(object.collect())
        };
        self.rows.iter().map(row).collect()
    }
}

/// The factors of all executions, in the order of their first appearance, each with the name of its column: its own, unless
/// another column has that.
fn factors(executions: &[Execution], taken: &dyn Fn(&str) -> bool) -> Vec<(String, String)> {
    let mut names: Vec<String> = Vec::new();
    for cell in executions.iter().flat_map(|execution| &execution.summary.cells) {
        for (factor, _) in &cell.levels {
            if !names.contains(factor) {
                names.push(factor.clone());
            }
        }
    }
    let column = |name: String| {
        let column = if taken(&name) { format!("factor_{name}") } else { name.clone() };
        (name, column)
    };
    names.into_iter().map(column).collect()
}

/// The levels of a cell in the order of the factors; what another program's file does not say is absent.
fn levels(execution: &Execution, cell: usize, factors: &[(String, String)]) -> Vec<Value> {
    let Summary { cells, is_imported, .. } = &execution.summary;
    let levels = cells.get(cell).map_or(&[][..], |cell| &cell.levels);
    let value = |label: &Label| match label {
        Label::Text(words) if *is_imported && words == NOT_SAID => Value::Absent,
        label => Value::from(label),
    };
    let of = |(factor, _): &(String, String)| {
        levels.iter().find(|(name, _)| name == factor).map_or(Value::Absent, |(_, label)| value(label))
    };
    factors.iter().map(of).collect()
}
