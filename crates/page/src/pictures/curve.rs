//! A metric against a factor that is a number: median and interval, a line per combination of the other levels.

use metrics::Metric;
use model::study::{Bars, Label, Scale};
use plotly::common::{ErrorData, ErrorType, Mode};
use plotly::layout::{Axis, AxisType};
use plotly::{Plot, Scatter};
use report::CellSummary;
use report::frame::{Execution, Table};

use super::point::{Point, ranges};
use super::{Drawn, HEIGHT, Wanted, axis, document, label, layout, measured, named, scaled};

pub(crate) fn draw(execution: &Execution, wanted: &Wanted) -> Vec<Drawn> {
    let Some(factor) = numeric_factor(execution) else { return Vec::new() };
    measured(execution).into_iter().map(|metric| of_metric(execution, wanted, &factor, metric)).collect()
}

/// The factor along which there are two numbers or more: the message size where it is one, else the first.
pub(crate) fn numeric_factor(execution: &Execution) -> Option<String> {
    let numbers = |factor: &str| {
        let mut found: Vec<i64> = execution.summary.cells.iter().filter_map(|cell| level(cell, factor)).collect();
        found.sort_unstable();
        found.dedup();
        found.len()
    };
    let names = execution.summary.study.factors.iter().map(|factor| factor.name.as_str());
    let mut usable: Vec<&str> = names.filter(|name| numbers(name) > 1).collect();
    usable.sort_by_key(|name| *name != "message_size_bytes");
    usable.first().map(|name| (*name).to_owned())
}

/// A cell's level of a factor, where it is a number.
pub(crate) fn level(cell: &CellSummary, factor: &str) -> Option<i64> {
    cell.levels.iter().find(|(name, _)| name == factor).and_then(|(_, label)| match label {
        Label::Number(number) => Some(*number),
        Label::Text(_) => None,
    })
}

/// The other levels of a cell, as a line's name.
pub(crate) fn others(cell: &CellSummary, factor: &str) -> String {
    let labels = cell.levels.iter().filter(|(name, _)| name != factor).map(|(_, label)| label.to_string());
    let name = labels.collect::<Vec<_>>().join(" · ");
    if name.is_empty() { "all".to_owned() } else { name }
}

/// The cells of each line, by its name, along the factor.
pub(crate) fn lines<'a>(execution: &'a Execution, factor: &str) -> Vec<(String, Vec<(i64, &'a CellSummary)>)> {
    let mut lines: Vec<(String, Vec<(i64, &CellSummary)>)> = Vec::new();
    for cell in &execution.summary.cells {
        let Some(number) = level(cell, factor) else { continue };
        let name = others(cell, factor);
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cells)) => cells.push((number, cell)),
            None => lines.push((name, vec![(number, cell)])),
        }
    }
    lines.iter_mut().for_each(|(_, cells)| cells.sort_by_key(|(number, _)| *number));
    lines
}

/// Sizes that an axis names each.
const NAMED: usize = 14;

/// An axis along sizes: where there are few, each of them has its tick.
fn sizes(factor: &str, scale: Option<Scale>, mut values: Vec<f64>) -> Axis {
    values.sort_by(f64::total_cmp);
    values.dedup();
    let axis = match scale {
        None => scaled(factor, &values),
        Some(Scale::Linear) => axis(factor),
        Some(Scale::Log) => axis(factor).type_(AxisType::Log),
    };
    if values.len() > NAMED {
        return axis;
    }
    let text = values.iter().map(f64::to_string).collect();
    axis.tick_values(values).tick_text(text)
}

fn of_metric(execution: &Execution, wanted: &Wanted, factor: &str, metric: &Metric) -> Drawn {
    let mut plot = Plot::new();
    let mut numbers = Table::new(["line", factor, "median", "low", "high", "runs", "least", "largest", "document"]);
    let (mut all_x, mut all_y) = (Vec::new(), Vec::new());
    let ranges = ranges(execution, metric);
    for (name, cells) in lines(execution, factor) {
        let points: Vec<Point> = cells.iter().filter_map(|(x, cell)| Point::of(*x, cell, metric, &ranges)).collect();
        if points.is_empty() {
            continue;
        }
        numbers.rows.extend(points.iter().map(|point| point.row(&name)));
        let x: Vec<f64> = points.iter().map(|point| point.x as f64).collect();
        let y: Vec<f64> = points.iter().map(|point| point.figure.value).collect();
        let bars = points.iter().map(|point| point.bar(wanted.bars));
        let (down, up) = bars.map(|(low, high)| (low.unwrap_or(0.0), high.unwrap_or(0.0))).unzip();
        all_x.extend(x.iter().copied());
        all_y.extend(y.iter().copied());
        let bars = ErrorData::new(ErrorType::Data).array(up).array_minus(down).symmetric(false);
        let trace = Scatter::new(x, y).name(label(&name)).mode(Mode::LinesMarkers).error_y(bars);
        plot.add_trace(trace.legend_group(label(&name)));
        if let Some((trace, values)) = document::trace(&name, &points) {
            all_y.extend(values);
            plot.add_trace(trace);
        }
    }
    plot.set_layout(layout().x_axis(sizes(factor, wanted.x, all_x)).y_axis(scaled(&named(metric), &all_y)));
    let bars = match wanted.bars {
        Bars::Interval => "their 95 % intervals",
        Bars::Range => "the least and the largest run",
    };
    Drawn {
        file: format!("curve-{}", metric.name),
        title: format!("{} against {factor}.", metric.title),
        caption: format!("Medians; the bars are {bars}.{}", document::caption(execution, metric)),
        plot,
        numbers,
        sampled: None,
        height: HEIGHT,
    }
}
