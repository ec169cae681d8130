//! Bars of the cells: the picture that a chapter opens with, and medians next to the document's figures.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::explain::ExplainedCell;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::summary::{Summary, measured};

use super::bars::{Bars, Series};
use super::curve;
use super::picture::{Picture, bars_caption, by_levels, factors, named};
use crate::answer::{stacked, total};
use crate::number;

const THROUGHPUT: &str = "throughput_mbps";

const THEIRS: &str = " A line across is the document's figure, which is from other machines.";

/// The metrics that the picture of all cells is of: the only one of the study's first sentence, or what a KiB costs.
fn opening(summary: &Summary) -> Vec<&'static Metric> {
    let first = summary.study.sentences.first();
    match first.map(|sentence| &sentence.metrics[..]) {
        Some([one]) if summary.has(one) => metric(one).into_iter().collect(),
        _ => stacked(summary),
    }
}

/// What the study asks of each cell, next to throughput and bottleneck; none if fewer than two cells have a result.
pub(crate) fn first(execution: &Findings) -> Option<Picture> {
    let metrics = opening(&execution.summary);
    let first = *metrics.first()?;
    if let (Some(curve), 1) = (curve::of_many(execution, first), metrics.len()) {
        return Some(curve);
    }
    let names = metrics.iter().map(|metric| metric.name);
    let names: Vec<&str> = names.chain([THROUGHPUT]).collect();
    let has_one = |cell: &CellSummary| names.iter().any(|name| cell.figure(name).is_some());
    let cells = sorted(execution, has_one);
    if cells.len() < 2 {
        return None;
    }
    let of = |(place, metric): (usize, &&Metric)| {
        let name = if metrics.len() > 1 {
            ["send", "receive"][place]
        } else {
            metric.title
        };
        // Of stacked bars the document's figure is their sum, at the end of the last one.
        let is_last = place + 1 == metrics.len();
        let sum = |cell: &&CellSummary| metrics.iter().map(|of| cell.expected(of.name)).sum();
        let document = cells.iter().map(sum).filter(|_| is_last).collect();
        Series {
            document,
            ..series(&cells, metric, name)
        }
    };
    let series: Vec<Series> = metrics.iter().enumerate().map(of).collect();
    let title = match &metrics[..] {
        [one] => format!("{} of each cell.", one.title),
        _ if first.unit.ends_with("KiB") => "CPU time to send and to receive one KiB.".to_owned(),
        _ => "CPU time of one transaction at both ends.".to_owned(),
    };
    let mut documents = series.iter().flat_map(|series| &series.document);
    let document = if documents.any(Option::is_some) {
        THEIRS
    } else {
        ""
    };
    let of_sum = match metrics.len() {
        1 => "",
        _ => " Bounds are the sums of both ends'.",
    };
    let bars = Bars {
        title,
        caption: bars_caption(cells.iter().copied()) + of_sum + document,
        unit: named(first).to_owned(),
        names: cells.iter().map(|cell| cell.name()).collect(),
        names_title: factors(cells.iter().copied()),
        series,
        is_stacked: true,
        columns: columns(execution, &cells, &metrics),
    };
    Some(bars.draw())
}

fn sorted(execution: &Findings, is_drawn: impl Fn(&CellSummary) -> bool) -> Vec<&CellSummary> {
    let cells = execution.summary.cells.iter();
    let mut cells: Vec<&CellSummary> = cells.filter(|cell| is_drawn(cell)).collect();
    cells.sort_by_cached_key(|cell| by_levels(execution, cell));
    cells
}

/// A metric of the cells with the document's figures.
fn series(cells: &[&CellSummary], metric: &Metric, name: &str) -> Series {
    let values = cells.iter().map(|cell| cell.figure(metric.name));
    let mut series = Series::new(name, values.collect());
    let document = cells.iter().map(|cell| cell.expected(metric.name));
    series.document = document.collect();
    series
}

/// The sum of the bars, throughput where it is not what they show, and the bottleneck.
fn columns(
    execution: &Findings,
    cells: &[&CellSummary],
    metrics: &[&'static Metric],
) -> Vec<(String, Vec<String>)> {
    let shown = |value: Option<f64>| value.map_or("-".to_owned(), number::plain);
    let sums = cells.iter().map(|cell| shown(total(cell, metrics)));
    let mut columns = vec![(named(metrics[0]).to_owned(), sums.collect())];
    let is_other = metrics[0].name != THROUGHPUT;
    let throughput = |cell: &&CellSummary| Some(cell.figure(THROUGHPUT)?.value);
    if let (true, Some(metric)) = (
        is_other && cells.iter().any(|cell| throughput(cell).is_some()),
        metric(THROUGHPUT),
    ) {
        let words = cells.iter().map(|cell| shown(throughput(cell)));
        columns.push((format!("throughput, {}", metric.unit), words.collect()));
    }
    let of = |cell: &&CellSummary| {
        let mut all = execution.summary.cells.iter();
        let at = all.position(|one| std::ptr::eq(one, *cell));
        let cell = at.and_then(|at| execution.limiter_of(at));
        cell.and_then(ExplainedCell::limiter_words)
            .unwrap_or_default()
    };
    let words: Vec<String> = cells.iter().map(of).collect();
    if words.iter().any(|words| !words.is_empty()) {
        columns.push(("bottleneck".to_owned(), words));
    }
    columns
}

/// Medians next to the document's figures, for the cells and metrics that have such figures. Metrics of one unit share
/// a picture, because their length distinguishes them.
pub(super) fn compared(execution: &Findings) -> Vec<Picture> {
    let has =
        |cell: &CellSummary, metric: &Metric| cell.runs > 0 && cell.expected(metric.name).is_some();
    let mut metrics = measured(&execution.summary);
    metrics.retain(|metric| execution.summary.cells.iter().any(|cell| has(cell, metric)));
    let mut units: Vec<Vec<&Metric>> = Vec::new();
    for metric in metrics {
        let mut of_unit = units.iter_mut().filter(|_| !metric.unit.is_empty());
        match of_unit.find(|known| known[0].unit == metric.unit) {
            Some(known) => known.push(metric),
            None => units.push(vec![metric]),
        }
    }
    let of_unit = |metrics: Vec<&Metric>| {
        let cells = sorted(execution, |cell| {
            metrics.iter().any(|metric| has(cell, metric))
        });
        let titles: Vec<&str> = metrics.iter().map(|metric| metric.title).collect();
        let bars = Bars {
            title: format!("{}, ours and the document's.", titles.join(" and ")),
            caption: format!("{}{THEIRS}", bars_caption(cells.iter().copied())),
            unit: named(metrics[0]).to_owned(),
            names: cells.iter().map(|cell| cell.name()).collect(),
            names_title: factors(cells.iter().copied()),
            series: metrics
                .iter()
                .map(|metric| series(&cells, metric, metric.title))
                .collect(),
            ..Bars::default()
        };
        bars.draw()
    };
    units.into_iter().map(of_unit).collect()
}
