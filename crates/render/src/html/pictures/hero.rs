//! The picture that a chapter opens with: what a KiB costs at both endpoints in each cell, next to
//! its throughput and its bottleneck.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::explain::{ExplainedCell, Explanation};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::statistics::Interval;

use super::drawing::ROWS;
use super::drawing::{
    Drawn, bars_caption, by_levels, from_zero, named, note_rows, reach, rows, words,
};
use super::{curve, medians};
use crate::answer::{stacked, total};
use crate::html::svg::{Column, ColumnCell, Legend, Mark, Marks, Sign, Slot, Trace};
use crate::number;

/// The least and the greatest width of the bottlenecks.
const BOTTLENECK: (f64, f64) = (120.0, 250.0);

const THROUGHPUT: &str = "throughput_mbps";

/// The picture; none if no run has a result.
pub(crate) fn draw(execution: &Findings, explanation: &Explanation) -> Option<Drawn> {
    let metrics = stacked(&execution.summary);
    let first = *metrics.first()?;
    if let (Some(curve), 1) = (curve::of_many(execution, first), metrics.len()) {
        return Some(curve);
    }
    let cells = execution.summary.cells.iter();
    let mut cells: Vec<&CellSummary> = cells.filter(|cell| is_drawn(cell, &metrics)).collect();
    cells.sort_by_cached_key(|cell| by_levels(execution, cell));
    let all = cells.len();
    let mut numbers = medians::table();
    let pairs = cells
        .iter()
        .flat_map(|cell| metrics.iter().map(move |metric| (cell, metric)));
    let has_figure =
        |(cell, metric): &(&&CellSummary, &&Metric)| cell.figure(metric.name).is_some();
    let pairs = pairs.filter(has_figure);
    numbers
        .rows
        .extend(pairs.map(|(cell, metric)| medians::row(cell, metric)));
    cells.truncate(ROWS);
    let title = title(&metrics);
    let traces = traces(&cells, &metrics);
    let has_document = traces.iter().any(|trace| trace.sign == Sign::Across);
    let is_stacked = metrics.len() > 1;
    let names = cells.iter().map(|cell| cell.name()).collect();
    let x = from_zero(&reach(&traces));
    let mut chart = rows(&title, (x, &named(first)), names, traces);
    chart.width = 960.0;
    if is_stacked || has_document {
        chart.legend = Legend::Traces;
    }
    chart.panels[0].columns = columns(&cells, &metrics, explanation);
    let document = match has_document {
        true => " A line across is the document's figure, which is from other machines.",
        false => "",
    };
    let without = match cells.iter().all(|cell| total(cell, &metrics).is_some()) {
        true => "",
        false => " A missing bar means that the cost is not known.",
    };
    Some(Drawn {
        file: "cells".to_owned(),
        title,
        caption: format!(
            "{}.{document}{without}",
            bars_caption(cells.iter().copied())
        ),
        chart,
        numbers,
        sampled: note_rows(all),
    })
}

/// Whether a cell has a row: it has what the bars are of, or a throughput next to them.
fn is_drawn(cell: &CellSummary, metrics: &[&Metric]) -> bool {
    let names = metrics.iter().map(|metric| metric.name);
    names
        .chain([THROUGHPUT])
        .any(|name| cell.figure(name).is_some())
}

fn title(metrics: &[&Metric]) -> String {
    match metrics {
        [one] => format!("{} of each cell.", one.title),
        [first, ..] if first.unit.ends_with("KiB") => {
            "CPU time to send and to receive one KiB.".to_owned()
        }
        _ => "CPU time of one transaction at both ends.".to_owned(),
    }
}

/// Bars of each metric behind each other, and the document's figures.
fn traces(cells: &[&CellSummary], metrics: &[&'static Metric]) -> Vec<Trace> {
    let mut traces = Vec::new();
    for (series, metric) in metrics.iter().enumerate() {
        let bar = |(place, cell): (usize, &&CellSummary)| {
            let figure = cell.figure(metric.name)?;
            let from: f64 = metrics[..series]
                .iter()
                .filter_map(|before| Some(cell.figure(before.name)?.value))
                .sum();
            Some(Mark {
                x: from + figure.value,
                y: place as f64,
                from,
                low: figure.low.map(|low| from + low),
                high: figure.high.map(|high| from + high),
                title: words(
                    &format!("{}, {}", cell.name(), metric.title),
                    figure,
                    metric,
                ),
            })
        };
        let marks = cells.iter().enumerate().filter_map(bar).collect();
        let name = match (metrics.len(), series) {
            (1, _) => metric.title,
            (_, 0) => "send",
            _ => "receive",
        };
        let mut trace = Trace::new(name, series, Marks::Bars(marks));
        trace.slot = Slot::WHOLE;
        traces.push(trace);
    }
    let document = |(place, cell): (usize, &&CellSummary)| {
        let known = metrics.iter().map(|metric| cell.expected(metric.name));
        let sum = Interval::alone(known.sum::<Option<f64>>()?);
        let title = words(&format!("{}, document", cell.name()), &sum, metrics[0]);
        Some(Mark::at(sum.value, place as f64, None, title))
    };
    let marks: Vec<Mark> = cells.iter().enumerate().filter_map(document).collect();
    if !marks.is_empty() {
        let mut trace = Trace::new("the document\u{2019}s figure", 0, Marks::Points(marks));
        trace.sign = Sign::Across;
        traces.push(trace);
    }
    traces
}

/// The sum of the bars, throughput where it is not what they show, and the bottleneck.
fn columns(
    cells: &[&CellSummary],
    metrics: &[&'static Metric],
    explanation: &Explanation,
) -> Vec<Column> {
    let mut columns = vec![sums(cells, metrics)];
    let throughput = metric(THROUGHPUT).filter(|metric| metrics[0].name != metric.name);
    let has = |metric: &&Metric| cells.iter().any(|cell| cell.figure(metric.name).is_some());
    columns.extend(
        throughput
            .filter(has)
            .map(|metric| throughputs(cells, metric)),
    );
    columns.extend(bottlenecks(cells, explanation));
    columns
}

fn sums(cells: &[&CellSummary], metrics: &[&'static Metric]) -> Column {
    let of = |cell: &&CellSummary| {
        let sum = total(cell, metrics);
        ColumnCell {
            value: None,
            words: sum.map_or("-".to_owned(), |sum| number::plain(sum.value)),
            title: sum.map_or_else(String::new, |sum| words(&cell.name(), &sum, metrics[0])),
        }
    };
    Column {
        title: named(metrics[0]),
        width: 64.0,
        cells: cells.iter().map(of).collect(),
    }
}

fn throughputs(cells: &[&CellSummary], metric: &Metric) -> Column {
    let of = |cell: &&CellSummary| {
        let figure = cell.figure(metric.name);
        ColumnCell {
            value: figure.map(|figure| figure.value),
            words: figure.map_or_else(String::new, |figure| number::plain(figure.value)),
            title: figure.map_or_else(String::new, |figure| words(&cell.name(), figure, metric)),
        }
    };
    Column {
        title: format!("throughput, {}", metric.unit),
        width: 130.0,
        cells: cells.iter().map(of).collect(),
    }
}

/// The bottleneck of each cell; none if no cell has one.
fn bottlenecks(cells: &[&CellSummary], explanation: &Explanation) -> Option<Column> {
    let of = |cell: &&CellSummary| {
        let name = cell.name();
        let explained = explanation.cells.iter().find(|known| known.name == name);
        let words = explained.and_then(ExplainedCell::limiter_words);
        let verdict = explained
            .and_then(ExplainedCell::verdict)
            .zip(words.as_ref());
        let title = verdict
            .map(|(verdict, words)| format!("{name}: {words}, {}", verdict.confidence.words()));
        ColumnCell {
            value: None,
            title: title.unwrap_or_default(),
            words: words.unwrap_or_default(),
        }
    };
    let found: Vec<ColumnCell> = cells.iter().map(of).collect();
    let has_words = found.iter().any(|cell| !cell.words.is_empty());
    has_words.then(|| Column::wide("bottleneck", BOTTLENECK, found))
}
