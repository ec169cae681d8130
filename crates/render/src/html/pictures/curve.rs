//! A metric against a numeric factor: median and interval, a line per combination of the other
//! levels.

use bitcost_analysis::cells::{ALONE, CellSummary};
use bitcost_analysis::explain::Explanation;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::Table;
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::summary::{LineOfCells, lines_along, numeric_factor};
use bitcost_study::{Bars, PictureKind, Scale};

use super::document;
use super::drawing::{Drawn, along, bars_caption, legend, measured, named, plain, words};
use super::point::{Point, ranges};
use crate::html::svg::{Axis, Mark, Marks, Trace};
use bitcost_study::Picture as Wanted;

pub(crate) fn draw(execution: &Findings, wanted: &Wanted, _: &Explanation) -> Vec<Drawn> {
    let Some(factor) = numeric_factor(&execution.summary) else {
        return Vec::new();
    };
    measured(execution)
        .into_iter()
        .map(|metric| of_metric(execution, wanted, &factor, metric))
        .collect()
}

/// Cells from which a picture with a bar for each is longer than a screen.
const MANY: usize = 24;

/// The most lines that a first picture shows: more are hard to follow.
const LINES: usize = 8;

/// A metric against the numeric factor in the place of a bar for each of many cells; absent where
/// bars are clearer.
pub(super) fn of_many(execution: &Findings, metric: &Metric) -> Option<Drawn> {
    let summary = &execution.summary;
    let factor = numeric_factor(summary).filter(|_| summary.cells.len() > MANY)?;
    let lines = lines_along(summary, &factor).len();
    let wanted = Wanted::plain(PictureKind::Curve);
    (lines <= LINES).then(|| of_metric(execution, &wanted, &factor, metric))
}

/// The most sizes that an axis names individually.
const NAMED: usize = 14;

/// An axis along sizes: if there are few, each of them has its tick.
pub(super) fn sizes(scale: Option<Scale>, mut values: Vec<f64>) -> Axis {
    values.sort_by(f64::total_cmp);
    values.dedup();
    let axis = along(scale, &values, &[]);
    if values.is_empty() || values.len() > NAMED {
        return axis;
    }
    let mut named = Axis::named(&values);
    named.is_log = axis.is_log;
    named
}

fn of_metric(execution: &Findings, wanted: &Wanted, factor: &str, metric: &Metric) -> Drawn {
    let mut numbers = Table::new([
        "line", factor, "median", "low", "high", "runs", "least", "largest", "document",
    ]);
    let mut traces: Vec<Trace> = Vec::new();
    let (mut all_x, mut all_y, mut bounds) = (Vec::new(), Vec::new(), Vec::new());
    let ranges = ranges(execution, metric);
    let lines = lines_along(&execution.summary, factor);
    for (series, (name, cells)) in lines.iter().enumerate() {
        // A single line is named after its metric; a level may have the name of a single line.
        let name = if lines.len() == 1 && name == ALONE {
            metric.title
        } else {
            name.as_str()
        };
        let points: Vec<Point> = cells
            .iter()
            .filter_map(|(x, cell)| Point::of(*x, cell, metric, &ranges))
            .collect();
        if points.is_empty() {
            continue;
        }
        numbers
            .rows
            .extend(points.iter().map(|point| point.row(name)));
        let marks: Vec<Mark> = points
            .iter()
            .map(|point| mark(name, metric, point, wanted.bars))
            .collect();
        all_x.extend(marks.iter().map(|mark| mark.x));
        all_y.extend(marks.iter().map(|mark| mark.y));
        all_y.extend(points.iter().filter_map(|point| point.expected));
        let of_marks = marks.iter().flat_map(|mark| [mark.low, mark.high]);
        bounds.extend(of_marks.flatten());
        traces.push(Trace::new(name, series, Marks::Line(marks)));
        traces.extend(document::trace(name, metric, &points, series));
    }
    let title = format!("{} against {factor}.", metric.title);
    let (x, y) = (sizes(wanted.x, all_x), along(wanted.y, &all_y, &bounds));
    let mut chart = plain(&title, (x, factor), (y, &named(metric)), traces);
    chart.legend = legend(lines.len().max(chart.panels[0].traces.len()));
    let bars = match wanted.bars {
        Bars::Interval => bars_caption(cells_with_runs(&lines)),
        Bars::Range => "Medians; the bars show the minimum and the maximum of the runs".to_owned(),
    };
    Drawn {
        file: format!("curve-{}", metric.name),
        title,
        caption: format!("{bars}.{}", document::caption(execution, metric)),
        chart,
        numbers,
        sampled: None,
    }
}

fn mark(line: &str, metric: &Metric, point: &Point, bars: Bars) -> Mark {
    let figure = point.bar(bars);
    let title = words(&format!("{line}, {}", point.x), &figure, metric);
    Mark::at(point.x as f64, figure.value, Some(&figure), title)
}

fn cells_with_runs<'a>(lines: &'a [LineOfCells<'a>]) -> impl Iterator<Item = &'a CellSummary> {
    let cells = lines
        .iter()
        .flat_map(|(_, cells)| cells.iter().map(|(_, cell)| *cell));
    cells.filter(|cell| cell.runs > 0)
}
