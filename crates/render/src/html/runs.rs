//! Every run in order, which shows a drift.

use crate::lines::Lines;
use crate::number;
use bitcost_analysis::cells::{CellSummary, RunRow};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::summary::shown_metrics;
use bitcost_model::units::counted;

use crate::html::fold;
use crate::html::sampled::runs_csv;
use crate::html::table::table;
use crate::html::writer::Html;
use bitcost_analysis::evenly::evenly;

/// The most runs that are listed.
const LISTED: usize = 500;

pub(crate) fn section(page: &mut Html, execution: &Findings) {
    let summary = &execution.summary;
    let all = summary.runs.len();
    fold::open(page, "Runs in their order", &counted(all, "run"));
    if all > LISTED {
        let note = format!(
            "{LISTED} of {all} runs are listed, evenly chosen; `bitcost show FOLDER --format csv` prints all."
        );
        page.element("p", "fine", &note);
    }
    let metrics: Vec<_> = shown_metrics(summary)
        .into_iter()
        .filter_map(bitcost_analysis::metrics::metric)
        .collect();
    let mut header: Vec<String> = ["run", "block", "cell", "begun", "outcome"]
        .map(str::to_owned)
        .to_vec();
    header.extend(metrics.iter().map(|metric| crate::titles::named(metric)));
    let row = |run: &RunRow| {
        let cell = summary.cells.get(run.cell);
        let cell = cell.map(CellSummary::name).unwrap_or_default();
        let status = run.status.name().replace('_', " ");
        let outcome = match &run.reason {
            Some(reason) => format!("{status}: {reason}"),
            None => status,
        };
        let mut row = vec![(run.run + 1).to_string(), (run.block + 1).to_string(), cell];
        row.extend([run.began_at.clone().unwrap_or_default(), outcome]);
        row.extend(
            metrics
                .iter()
                .map(|metric| run.value(metric).map_or("-".to_owned(), number::plain)),
        );
        row
    };
    let rows = evenly(all, LISTED).map(|place| row(&summary.runs[place]));
    table(page, "", "Runs in their order", &Lines::new(header, rows));
    let (csv, left_out) = runs_csv(execution);
    if let Some(all) = left_out {
        let note = format!(
            "The file holds {} of {all} runs, evenly chosen.",
            crate::html::sampled::ROWS
        );
        page.element("p", "fine", &note);
    }
    page.download("runs.csv", &csv);
    fold::close(page);
}
