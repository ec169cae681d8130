//! What became of lost and retransmitted packets, for the runs that had some.

use bitcost_analysis::cells::{RunRow, Status};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::ledger::{LossLedger, loss_ledger};
use bitcost_analysis::metrics::metric;
use bitcost_model::units::counted;

use crate::html::fold;
use crate::html::table::table;
use crate::html::writer::Html;
use crate::losses;

/// The most runs whose tables the section has.
const TABLES: usize = 10;

/// Metrics that are above 0 where a run lost or retransmitted something.
const SIGNS: [&str; 3] = ["retransmits", "loss_pct", "requests_lost_pct"];

pub(crate) fn section(page: &mut Html, execution: &Findings) {
    let is_marked = |row: &RunRow| {
        let signs = SIGNS.iter().filter_map(|name| row.value(metric(name)?));
        row.status == Status::Used && signs.fold(0.0, f64::max) > 0.0
    };
    let runs = execution.summary.runs.iter();
    let all = runs.filter(|row| is_marked(row)).count();
    if all == 0 {
        return;
    }
    let mut found: Vec<(u32, Result<LossLedger, &str>)> = Vec::new();
    let last = execution.summary.runs.iter().filter(|row| is_marked(row));
    let last = last.take(TABLES).last().map_or(0, |row| row.run);
    let is_shown = |row: &RunRow| row.run <= last && is_marked(row);
    execution.each_run(is_shown, &mut |row, _, view| {
        found.push((row.run, loss_ledger(view)));
    });
    fold::open(page, "Losses", &counted(all, "run"));
    if all > TABLES {
        let note = format!("The first {TABLES} of {all} runs that lost or retransmitted packets.");
        page.element("p", "fine", &note);
    }
    for (run, ledger) in &found {
        let title = format!("Run {}", run + 1);
        match ledger {
            Ok(ledger) => {
                page.element("p", "", &format!("{title}: {ledger}."));
                table(page, "", &title, &losses::table(ledger));
            }
            Err(reason) => {
                page.element("p", "", &format!("{title}: no ledger, because {reason}."));
            }
        }
    }
    fold::close(page);
}
