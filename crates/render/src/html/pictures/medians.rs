//! Medians next to the document's figures, for the cells and metrics that have such figures.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::execution::Execution;
use bitcost_analysis::explain::Explanation;
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::metrics::Metric;
use plotly::common::{ErrorData, Marker, Pattern, PatternShape};
use plotly::layout::BarMode;
use plotly::{Bar, Plot};

use super::drawing::{Drawn, HEIGHT, bars, bars_caption, label, layout, measured, named, of_names};
use bitcost_study::Picture as Wanted;

pub(crate) fn draw(execution: &Execution, _: &Wanted, _: &Explanation) -> Vec<Drawn> {
    let cells: Vec<&CellSummary> = execution
        .summary
        .cells
        .iter()
        .filter(|cell| !cell.expected.is_empty() && cell.runs > 0)
        .collect();
    let mut units: Vec<(String, Vec<&Metric>)> = Vec::new();
    for metric in measured(execution) {
        if !cells
            .iter()
            .any(|cell| cell.expected(metric.name).is_some())
        {
            continue;
        }
        // Metrics of one unit share a picture, because their height distinguishes them.
        match units
            .iter_mut()
            .find(|(unit, _)| !metric.unit.is_empty() && *unit == metric.unit)
        {
            Some((_, metrics)) => metrics.push(metric),
            None => units.push((metric.unit.to_owned(), vec![metric])),
        }
    }
    units
        .into_iter()
        .map(|(_, metrics)| of_unit(&cells, &metrics))
        .collect()
}

fn of_unit(cells: &[&CellSummary], metrics: &[&Metric]) -> Drawn {
    let mut plot = Plot::new();
    let mut numbers = Table::new(["cell", "metric", "median", "low", "high", "document"]);
    for metric in metrics {
        let cells: Vec<&CellSummary> = cells
            .iter()
            .filter(|cell| cell.expected(metric.name).is_some())
            .copied()
            .collect();
        let names: Vec<String> = cells.iter().map(|cell| label(&cell.name())).collect();
        let ours: Vec<Option<f64>> = cells
            .iter()
            .map(|cell| Some(cell.figure(metric.name)?.value))
            .collect();
        let theirs: Vec<Option<f64>> = cells
            .iter()
            .map(|cell| cell.expected(metric.name))
            .collect();
        let rows = cells.iter().map(|cell| row(cell, metric));
        numbers.rows.extend(rows);
        let bar = Bar::new(names.clone(), ours).name(format!("{}, ours", label(metric.title)));
        plot.add_trace(
            bar.error_y(intervals(&cells, metric))
                .legend_group(metric.name)
                .offset_group(metric.name),
        );
        let hatched = Marker::new().pattern(Pattern::new().shape(PatternShape::RightDiagonalLine));
        let bar = Bar::new(names, theirs)
            .name(format!("{}, document", label(metric.title)))
            .marker(hatched);
        let offset = format!("{}-document", metric.name);
        plot.add_trace(
            bar.opacity(0.6)
                .legend_group(metric.name)
                .offset_group(offset),
        );
    }
    let titles: Vec<&str> = metrics.iter().map(|metric| metric.title).collect();
    let y = metrics
        .first()
        .map_or(String::new(), |metric| named(metric));
    plot.set_layout(
        layout()
            .x_axis(of_names())
            .y_axis(super::drawing::axis(&y))
            .bar_mode(BarMode::Group),
    );
    Drawn {
        file: format!(
            "medians-{}",
            metrics.first().map_or("", |metric| metric.name)
        ),
        title: format!("{}, ours and the document's.", titles.join(" and ")),
        caption: format!(
            "{}; hatched is what the document has, of other machines.",
            bars_caption(cells.iter().copied())
        ),
        plot,
        numbers,
        sampled: None,
        height: HEIGHT,
    }
}

/// The row of a cell and a metric in the table of the picture.
fn row(cell: &CellSummary, metric: &Metric) -> Vec<Value> {
    let figure = cell.figure(metric.name);
    vec![
        Value::from(cell.name().as_str()),
        Value::from(metric.name),
        Value::from(figure.map(|figure| figure.value)),
        Value::from(figure.and_then(|figure| figure.low)),
        Value::from(figure.and_then(|figure| figure.high)),
        Value::from(cell.expected(metric.name)),
    ]
}

fn intervals(cells: &[&CellSummary], metric: &Metric) -> ErrorData {
    let figures = || cells.iter().map(|cell| cell.figure(metric.name));
    let up = figures().map(|figure| figure.and_then(|f| Some(f.high? - f.value)));
    let down = figures().map(|figure| figure.and_then(|f| Some(f.value - f.low?)));
    bars(up, down)
}
