//! Limits the number of rows in a report's tables; the rows are chosen evenly.

use bitcost_analysis::evenly::evenly;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{RunRows, Table};

use crate::csv::csv_of;

/// The most rows of a table that a page holds; if there are more, they are chosen evenly.
pub(super) const ROWS: usize = 2000;

/// At most [`ROWS`] of the rows, evenly chosen; if some were left out, also the number of all rows.
pub(super) fn sampled(mut table: Table) -> (Table, Option<usize>) {
    let all = table.rows.len();
    if all <= ROWS {
        return (table, None);
    }
    let chosen: Vec<usize> = evenly(all, ROWS).collect();
    let mut place = 0;
    let mut next = chosen.iter().peekable();
    table.rows.retain(|_| {
        let keep = next.next_if(|index| **index == place).is_some();
        place += 1;
        keep
    });
    (table, Some(all))
}

/// The rows of an execution's runs as a file; if some were left out, also the number of all rows.
pub(super) fn runs_csv(execution: &Findings) -> (String, Option<usize>) {
    let rows = RunRows::new(std::slice::from_ref(execution));
    let all = execution.summary.runs.len();
    let mut chosen = evenly(all, ROWS).peekable();
    let rows_chosen = rows
        .iter()
        .enumerate()
        .filter(|(place, _)| chosen.next_if_eq(place).is_some());
    (
        csv_of(&rows.columns, rows_chosen.map(|(_, row)| row)),
        (all > ROWS).then_some(all),
    )
}
