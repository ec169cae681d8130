//! A metric against a factor that is a number: median and interval, a line per combination of the other levels.

use explain::Explanation;
use metrics::Metric;
use model::study::{Bars, Scale};
use plotly::common::{ErrorData, ErrorType, Mode};
use plotly::layout::Axis;
use plotly::{Plot, Scatter};
use report::frame::{Execution, Table};
use report::{lines_along, numeric_factor};

use super::point::{Point, ranges};
use super::{Drawn, HEIGHT, Wanted, along, document, label, layout, limits, measured, named};

pub(crate) fn draw(execution: &Execution, wanted: &Wanted, _: &Explanation) -> Vec<Drawn> {
    let Some(factor) = numeric_factor(&execution.summary) else { return Vec::new() };
    measured(execution).into_iter().map(|metric| of_metric(execution, wanted, &factor, metric)).collect()
}

/// Sizes that an axis names each.
const NAMED: usize = 14;

/// An axis along sizes: where there are few, each of them has its tick.
fn sizes(factor: &str, scale: Option<Scale>, mut values: Vec<f64>) -> Axis {
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
    let mut numbers =
        Table::new(["line", factor, "median", "low", "high", "runs", "least", "largest", "document", "limit"]);
    let (mut all_x, mut all_y) = (Vec::new(), Vec::new());
    let ranges = ranges(execution, metric);
    let lines = lines_along(&execution.summary, factor);
    for (name, cells) in &lines {
        let points: Vec<Point> = cells.iter().filter_map(|(x, cell)| Point::of(*x, cell, metric, &ranges)).collect();
        if points.is_empty() {
            continue;
        }
        numbers.rows.extend(points.iter().map(|point| point.row(name)));
        let x: Vec<f64> = points.iter().map(|point| point.x as f64).collect();
        let y: Vec<f64> = points.iter().map(|point| point.figure.value).collect();
        let bars = points.iter().map(|point| point.bar(wanted.bars));
        let (down, up) = bars.map(|(low, high)| (low.unwrap_or(0.0), high.unwrap_or(0.0))).unzip();
        all_x.extend(x.iter().copied());
        all_y.extend(y.iter().copied());
        let bars = ErrorData::new(ErrorType::Data).array(up).array_minus(down).symmetric(false);
        let trace = Scatter::new(x, y).name(label(name)).mode(Mode::LinesMarkers).error_y(bars);
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
    plot.set_layout(layout().x_axis(sizes(factor, wanted.x, all_x)).y_axis(along(&named(metric), wanted.y, &all_y)));
    let bars = match wanted.bars {
        Bars::Interval => "their 95 % intervals",
        Bars::Range => "the least and the largest run",
    };
    Drawn {
        file: format!("curve-{}", metric.name),
        title: format!("{} against {factor}.", metric.title),
        caption: format!(
            "Medians; the bars are {bars}.{}{}",
            document::caption(execution, metric),
            limits::caption(&limits)
        ),
        plot,
        numbers,
        sampled: None,
        height: HEIGHT,
    }
}
