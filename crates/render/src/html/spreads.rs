//! The spread of the runs of each cell: mean, standard deviation and range next to the median.

use crate::lines::Lines;
use crate::number;
use crate::titles::title;
use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::summary::{Summary, shown_metrics};

use crate::html::table::table;
use crate::html::writer::Html;

/// A folded table per metric; nothing if no run has a result.
pub(crate) fn section(page: &mut Html, summary: &Summary) {
    let metrics = shown_metrics(summary)
        .into_iter()
        .filter_map(bitcost_analysis::metrics::metric);
    let tables: Vec<(String, Lines)> = metrics
        .filter_map(|metric| Some((title(metric.name), lines(summary, metric)?)))
        .collect();
    if tables.is_empty() {
        return;
    }
    page.raw("<details><summary>Spread of the runs</summary>\n");
    for (title, lines) in &tables {
        table(page, title, &format!("Spread of the runs, {title}"), lines);
    }
    page.raw("</details>\n");
}

/// A row per cell that has the metric; absent where none has.
fn lines(summary: &Summary, metric: &Metric) -> Option<Lines> {
    let row = |cell: &CellSummary| {
        let (spread, median) = (cell.spread(metric.name)?, cell.figure(metric.name)?.value);
        let deviation = spread.deviation.map_or("-".to_owned(), number::fine);
        let [mean, least, median, largest] =
            [spread.mean, spread.least, median, spread.largest].map(number::fine);
        let (name, count) = (cell.name(), spread.count.to_string());
        Some(vec![name, count, mean, deviation, least, median, largest])
    };
    let rows: Vec<_> = summary.cells.iter().filter_map(row).collect();
    let header = [
        "cell",
        "runs",
        "mean",
        "standard deviation",
        "least",
        "median",
        "largest",
    ];
    (!rows.is_empty()).then(|| Lines::new(header, rows))
}
