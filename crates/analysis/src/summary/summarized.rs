//! The figures that end a log, for programs that read it as JSON.

use bitcost_model::event::{SummarizedCell, SummarizedFigure};
use bitcost_stats::Interval;

use super::known::Summary;
use super::shown::tabled_metrics;
use crate::cells::CellSummary;

/// The metric that every log has, whatever its study shows.
const THROUGHPUT: &str = "throughput_mbps";

/// Every cell with the figures that are shown and its throughput, under the names that `--json`
/// has.
pub fn summarized_cells(summary: &Summary) -> Vec<SummarizedCell> {
    let mut names = tabled_metrics(summary);
    if !names.contains(&THROUGHPUT) {
        names.push(THROUGHPUT);
    }
    let figure = |found: Interval| SummarizedFigure {
        median: found.value,
        low: found.low.filter(|_| found.high.is_some()),
        high: found.high.filter(|_| found.low.is_some()),
    };
    let cell = |cell: &CellSummary| {
        let figures = names.iter();
        let figures =
            figures.filter_map(|name| Some(((*name).to_owned(), figure(cell.figure(name)?))));
        SummarizedCell {
            levels: cell.levels.iter().cloned().collect(),
            runs: cell.runs,
            figures: figures.collect(),
        }
    };
    summary.cells.iter().map(cell).collect()
}
