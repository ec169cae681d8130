//! The figures of the document on a curve: open signs in the colour of their line.

use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::Interval;

use super::drawing::words;
use super::point::Point;
use crate::html::svg::{Mark, Marks, Sign, Trace};

/// The document's points of a line with this colour; absent where it has none.
pub(crate) fn trace(line: &str, metric: &Metric, points: &[Point], series: usize) -> Option<Trace> {
    let name = format!("{line}, document");
    let mark = |point: &Point| {
        let expected = Interval::alone(point.expected?);
        let title = words(&format!("{name}, {}", point.x), &expected, metric);
        Some(Mark::at(point.x as f64, expected.value, None, title))
    };
    let marks: Vec<Mark> = points.iter().filter_map(mark).collect();
    if marks.is_empty() {
        return None;
    }
    let mut trace = Trace::new(&name, series, Marks::Points(marks));
    trace.sign = Sign::OpenDiamond;
    Some(trace)
}

/// A sentence for the caption, if the document has figures of this metric.
pub(crate) fn caption(execution: &Findings, metric: &Metric) -> &'static str {
    let has = execution
        .summary
        .cells
        .iter()
        .any(|cell| cell.expected(metric.name).is_some());
    if has {
        " Open signs are the document's figures, which are from other machines."
    } else {
        ""
    }
}
