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
    let figure = |name: &str, found: Interval| {
        let figure = SummarizedFigure {
            median: found.value,
            low: found.low.filter(|_| found.high.is_some()),
            high: found.high.filter(|_| found.low.is_some()),
        };
        (name.to_owned(), figure)
    };
    let cell = |cell: &CellSummary| SummarizedCell {
        levels: cell.levels.iter().cloned().collect(),
        runs: cell.runs,
        figures: names
            .iter()
            .filter_map(|name| Some(figure(name, cell.figure(name)?)))
            .collect(),
    };
    summary.cells.iter().map(cell).collect()
}
