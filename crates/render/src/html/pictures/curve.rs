//! A metric against a numeric factor: median and interval, a line per combination of the other
//! levels.

use bitcost_analysis::cells::{ALONE, CellSummary};
use bitcost_analysis::execution::Execution;
use bitcost_analysis::explain::Explanation;
use bitcost_analysis::frame::Table;
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::summary::{LineOfCells, lines_along, numeric_factor};
use bitcost_study::{Bars, Scale};
use plotly::common::Mode;
use plotly::layout::Axis;
use plotly::{Plot, Scatter};

use super::drawing::{Drawn, HEIGHT, along, bars, bars_caption, label, layout_of, measured, named};
use super::point::{Point, ranges};
use super::{document, limits};
use bitcost_study::Picture as Wanted;

pub(crate) fn draw(execution: &Execution, wanted: &Wanted, _: &Explanation) -> Vec<Drawn> {
    let Some(factor) = numeric_factor(&execution.summary) else {
        return Vec::new();
    };
    measured(execution)
        .into_iter()
        .map(|metric| of_metric(execution, wanted, &factor, metric))
        .collect()
}

/// The most sizes that an axis names individually.
const NAMED: usize = 14;

/// An axis along sizes: if there are few, each of them has its tick.
pub(super) fn sizes(factor: &str, scale: Option<Scale>, mut values: Vec<f64>) -> Axis {
    values.sort_by(f64::total_cmp);
    values.dedup();
    let axis = along(factor, scale, &values);
    if values.len() > NAMED {
        return axis;
    }
    let text = values.iter().map(f64::to_string).collect();
    axis.tick_values(values).tick_text(text)
}

fn of_metric(execution: &Execution, wanted: &Wanted, factor: &str, metric: &Metric) -> Drawn {
    let mut plot = Plot::new();
    let mut numbers = Table::new([
        "line", factor, "median", "low", "high", "runs", "least", "largest", "document", "limit",
    ]);
    let (mut all_x, mut all_y) = (Vec::new(), Vec::new());
    let ranges = ranges(execution, metric);
    let lines = lines_along(&execution.summary, factor);
    for (name, cells) in &lines {
        // A single line is named after its metric.
        let name = if name == ALONE {
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
        let x: Vec<f64> = points.iter().map(|point| point.x as f64).collect();
        let y: Vec<f64> = points.iter().map(|point| point.figure.value).collect();
        let (down, up): (Vec<_>, Vec<_>) =
            points.iter().map(|point| point.bar(wanted.bars)).unzip();
        all_x.extend(x.iter().copied());
        all_y.extend(y.iter().copied());
        let trace = Scatter::new(x, y)
            .name(label(name))
            .mode(Mode::LinesMarkers)
            .error_y(bars(up.into_iter(), down.into_iter()));
        plot.add_trace(trace.legend_group(label(name)));
        if let Some((trace, values)) = document::trace(name, &points) {
            all_y.extend(values);
            plot.add_trace(trace);
        }
    }
    let limits = limits::of(execution, factor, metric, &lines);
    for limit in &limits {
        plot.add_trace(limit.trace());
        all_y.extend(limit.points.iter().map(|(_, mbps)| *mbps));
        numbers.rows.extend(limit.rows());
    }
    plot.set_layout(
        layout_of(lines.len())
            .x_axis(sizes(factor, wanted.x, all_x))
            .y_axis(along(&named(metric), wanted.y, &all_y)),
    );
    let bars = match wanted.bars {
        Bars::Interval => bars_caption(cells_with_runs(&lines)),
        Bars::Range => "Medians; the bars are the least and the largest run",
    };
    Drawn {
        file: format!("curve-{}", metric.name),
        title: format!("{} against {factor}.", metric.title),
        caption: format!(
            "{bars}.{}{}",
            document::caption(execution, metric),
            limits::caption(&limits)
        ),
        plot,
        numbers,
        sampled: None,
        height: HEIGHT,
    }
}

/// The cells of all lines that have runs.
fn cells_with_runs<'a>(lines: &'a [LineOfCells<'a>]) -> impl Iterator<Item = &'a CellSummary> {
    let cells = lines
        .iter()
        .flat_map(|(_, cells)| cells.iter().map(|(_, cell)| *cell));
    cells.filter(|cell| cell.runs > 0)
}
