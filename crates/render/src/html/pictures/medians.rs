//! Medians next to the document's figures, for the cells and metrics that have such figures.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::explain::Explanation;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::Interval;

use super::drawing::{
    Drawn, ROWS, bars_caption, figure, from_zero, measured, named, note_rows, reach, rows, words,
};
use crate::html::svg::{Legend, Mark, Marks, Sign, Slot, Trace};
use bitcost_study::Picture as Wanted;

pub(crate) fn draw(execution: &Findings, _: &Wanted, _: &Explanation) -> Vec<Drawn> {
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
    let mut numbers = table();
    let cells: Vec<&CellSummary> = cells
        .iter()
        .filter(|cell| metrics.iter().any(|of| cell.expected(of.name).is_some()))
        .copied()
        .collect();
    let mut traces = Vec::new();
    for (place, metric) in metrics.iter().enumerate() {
        let known = cells
            .iter()
            .filter(|cell| cell.expected(metric.name).is_some());
        numbers.rows.extend(known.map(|cell| row(cell, metric)));
        let slot = Slot::part(place, metrics.len());
        for mut trace in of_metric(&cells[..cells.len().min(ROWS)], metric, place) {
            trace.slot = slot;
            traces.push(trace);
        }
    }
    let values = reach(&traces);
    let titles: Vec<&str> = metrics.iter().map(|metric| metric.title).collect();
    let first = metrics[0];
    let title = format!("{}, ours and the document's.", titles.join(" and "));
    let names = cells.iter().take(ROWS).map(|cell| cell.name()).collect();
    let mut chart = rows(&title, (from_zero(&values), &named(first)), names, traces);
    chart.legend = Legend::Traces;
    Drawn {
        file: format!("medians-{}", first.name),
        title,
        caption: format!(
            "{}; a line across is the document's figure, which is from other machines.",
            bars_caption(cells.iter().copied())
        ),
        chart,
        numbers,
        sampled: note_rows(cells.len()),
    }
}

/// The bars of a metric, and the lines of the document's figures.
fn of_metric(cells: &[&CellSummary], metric: &Metric, series: usize) -> [Trace; 2] {
    let known = || {
        let places = cells.iter().enumerate();
        places.filter_map(|(place, cell)| Some((place as f64, cell, cell.expected(metric.name)?)))
    };
    let ours = known().filter_map(|(y, cell, _)| {
        let figure = cell.figure(metric.name)?;
        let title = words(&cell.name(), figure, metric);
        Some(Mark::at(figure.value, y, Some(figure), title))
    });
    let theirs = known().map(|(y, cell, expected)| {
        let expected = Interval::alone(expected);
        let title = words(&format!("{}, document", cell.name()), &expected, metric);
        Mark::at(expected.value, y, None, title)
    });
    let named = |whose: &str| format!("{}, {whose}", metric.title);
    let ours = Trace::new(&named("ours"), series, Marks::Bars(ours.collect()));
    let theirs = Marks::Points(theirs.collect());
    let mut document = Trace::new(&named("document"), series, theirs);
    document.sign = Sign::Across;
    [ours, document]
}

/// A table whose rows are [`row`]s.
pub(super) fn table() -> Table {
    Table::new(["cell", "metric", "median", "low", "high", "document"])
}

/// The row of a cell and a metric in the table of a picture.
pub(super) fn row(cell: &CellSummary, metric: &Metric) -> Vec<Value> {
    let [median, low, high] = figure(cell.figure(metric.name));
    let (cell_name, document) = (cell.name(), Value::from(cell.expected(metric.name)));
    let names = [cell_name.as_str(), metric.name].map(Value::from);
    [&names[..], &[median, low, high, document]].concat()
}
