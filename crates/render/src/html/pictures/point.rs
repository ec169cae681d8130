//! A cell as a point of a curve: its median, its interval, its runs' range, and the document's
//! figure.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::Value;
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::Interval;
use bitcost_study::Bars;

use super::drawing::{by_cell, figure};
use crate::html::svg::range;

/// One cell on a line.
pub(crate) struct Point<'a> {
    pub x: i64,
    pub cell: &'a CellSummary,
    pub figure: &'a Interval,
    /// The least and the largest run.
    range: (f64, f64),
    /// The document's figure.
    pub expected: Option<f64>,
}

impl<'a> Point<'a> {
    pub fn of(
        x: i64,
        cell: &'a CellSummary,
        metric: &Metric,
        ranges: &Ranges,
    ) -> Option<Point<'a>> {
        let figure = cell.figure(metric.name)?;
        let range = ranges
            .iter()
            .find(|(known, _)| std::ptr::eq(*known, cell))
            .map(|(_, range)| *range)?;
        Some(Point {
            x,
            cell,
            figure,
            range,
            expected: cell.expected(metric.name),
        })
    }

    /// The median with the bounds that the bars are of.
    pub fn bar(&self, bars: Bars) -> Interval {
        match bars {
            Bars::Interval => *self.figure,
            Bars::Range => Interval {
                value: self.figure.value,
                low: Some(self.range.0),
                high: Some(self.range.1),
            },
        }
    }

    /// The row of the point in the file.
    pub fn row(&self, line: &str) -> Vec<Value> {
        let [median, low, high] = figure(Some(self.figure));
        vec![
            Value::from(line),
            Value::Whole(self.x),
            median,
            low,
            high,
            Value::Whole(self.cell.runs as i64),
            Value::Number(self.range.0),
            Value::Number(self.range.1),
            Value::from(self.expected),
            Value::Absent,
        ]
    }
}

pub(crate) type Ranges<'a> = Vec<(&'a CellSummary, (f64, f64))>;

/// The least and the largest run of each cell.
pub(crate) fn ranges<'a>(execution: &'a Findings, metric: &Metric) -> Ranges<'a> {
    let of_cell = |(cell, values): (_, Vec<(u32, f64)>)| {
        let values = values.into_iter().map(|(_, value)| value);
        (cell, range(values))
    };
    by_cell(execution, metric)
        .into_iter()
        .map(of_cell)
        .collect()
}
