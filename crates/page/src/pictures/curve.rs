//! A metric against a factor that is a number: median and interval, a line per combination of the other levels.

use metrics::Metric;
use model::study::Label;
use plotly::common::{ErrorData, ErrorType, Mode};
use plotly::layout::Axis;
use plotly::{Plot, Scatter};
use report::CellSummary;
use report::frame::{Execution, Table, Value};

use super::{Drawn, HEIGHT, label, layout, measured, named, scaled};

pub(crate) fn draw(execution: &Execution) -> Vec<Drawn> {
    let Some(factor) = numeric_factor(execution) else { return Vec::new() };
    measured(execution).into_iter().map(|metric| of_metric(execution, &factor, metric)).collect()
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
fn sizes(factor: &str, mut values: Vec<f64>) -> Axis {
    values.sort_by(f64::total_cmp);
    values.dedup();
    let axis = scaled(factor, &values);
    if values.len() > NAMED {
        return axis;
    }
    let text = values.iter().map(f64::to_string).collect();
    axis.tick_values(values).tick_text(text)
}

fn of_metric(execution: &Execution, factor: &str, metric: &Metric) -> Drawn {
    let mut plot = Plot::new();
    let mut numbers = Table::new(["line", factor, "median", "low", "high", "runs"]);
    let (mut all_x, mut all_y) = (Vec::new(), Vec::new());
    for (name, cells) in lines(execution, factor) {
        let points: Vec<_> = cells.iter().filter_map(|(x, cell)| Some((*x, cell, cell.figure(metric.name)?))).collect();
        if points.is_empty() {
            continue;
        }
        for (x, cell, figure) in &points {
            numbers.rows.push(vec![
                Value::from(name.as_str()),
                Value::Whole(*x),
                Value::Number(figure.value),
                Value::from(figure.low),
                Value::from(figure.high),
                Value::Whole(cell.runs as i64),
            ]);
        }
        let x: Vec<f64> = points.iter().map(|(x, ..)| *x as f64).collect();
        let y: Vec<f64> = points.iter().map(|(_, _, figure)| figure.value).collect();
        let up = points.iter().map(|(_, _, figure)| figure.high.map_or(0.0, |high| high - figure.value)).collect();
        let down = points.iter().map(|(_, _, figure)| figure.low.map_or(0.0, |low| figure.value - low)).collect();
        all_x.extend(x.iter().copied());
        all_y.extend(y.iter().copied());
        let bars = ErrorData::new(ErrorType::Data).array(up).array_minus(down).symmetric(false);
        plot.add_trace(Scatter::new(x, y).name(label(&name)).mode(Mode::LinesMarkers).error_y(bars));
    }
    plot.set_layout(layout().x_axis(sizes(factor, all_x)).y_axis(scaled(&named(metric), &all_y)));
    Drawn {
        file: format!("curve-{}", metric.name),
        title: format!("{} against {factor}.", metric.title),
        caption: "Medians; the bars are their 95 % intervals.".into(),
        plot,
        numbers,
        sampled: None,
        height: HEIGHT,
    }
}
