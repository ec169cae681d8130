//! An execution that was read: its name, its log, and what the log says.

use bitcost_model::event::{Event, Events};
use bitcost_model::study::Cell;

use crate::cells::RunRow;
use crate::log::PlaceFacts;
use crate::metrics::RunView;
use crate::summary::Summary;

/// An execution with its name.
#[derive(Clone, Debug)]
pub struct Execution<'a> {
    /// The name: that of its folder.
    pub name: String,
    /// Its log.
    pub events: Events<'a>,
    /// What the log says.
    pub summary: Summary,
}

impl Execution<'_> {
    /// Passes on the wanted runs that have a result of our own, one at a time, each with its row
    /// and its cell. If a run was tried more than once, the last try is used.
    pub fn each_run(
        &self,
        wanted: impl Fn(&RunRow) -> bool,
        take: &mut dyn FnMut(&RunRow, &Cell, &RunView),
    ) {
        let summary = &self.summary;
        let row = |run: u32| {
            summary
                .runs
                .binary_search_by_key(&run, |row| row.run)
                .ok()
                .map(|at| &summary.runs[at])
        };
        let place = PlaceFacts::new(summary.shared_cpus, &summary.ends);
        self.events
            .each(&|run| row(run).is_some_and(&wanted), &mut |at, event| {
                let Event::RunEnded {
                    run,
                    sender,
                    receiver,
                    ..
                } = event
                else {
                    return;
                };
                let Some(row) = row(*run).filter(|row| row.event == Some(at)) else {
                    return;
                };
                let Some(cell) = summary.planned.get(row.cell) else {
                    return;
                };
                let capacity = summary
                    .calibration
                    .as_ref()
                    .and_then(|found| found.of_cell(row.cell)?.mbps());
                take(
                    row,
                    cell,
                    &place.view([sender, receiver], &cell.conditions, capacity),
                );
            });
    }
}
