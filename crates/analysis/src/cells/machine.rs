//! Whether the machine was the same in all runs of a cell: how far the endpoints' CPUs were from each
//! other, and how long the fixed loop took on the slowest of them.
//!
//! A hypervisor may move a virtual CPU to other cores between two runs, or let another guest run there.

use super::row::{RunRow, Status};
use crate::metrics::{CORE_TO_CORE, SPEED};

/// The least ratio of two times of one cell from which the machine was another one. Round trips at one
/// distance differ by a quarter, and those at the next distance are longer by a factor of 2 or more.
const RATIO_LEAST: f64 = 1.5;

/// `the machine differed between runs of 2 cells: …`; absent where it did not.
pub(crate) fn machine_caveat(rows: &[RunRow], cells: usize) -> Option<String> {
    let trips = differing(rows, cells, CORE_TO_CORE);
    let loops = differing(rows, cells, SPEED);
    let trips = trips.map(|(least, most)| {
        format!("the endpoints' CPUs were {least:.0} to {most:.0} ns from each other")
    });
    let loops =
        loops.map(|(least, most)| format!("the fixed loop took {least:.2} to {most:.2} µs"));
    let told: Vec<String> = trips.into_iter().chain(loops).collect();
    (!told.is_empty())
        .then(|| format!("the machine differed between runs: {}", told.join(", and ")))
}

/// The shortest and the longest time of this metric in the cell in which they are farthest apart; absent
/// where no cell has two runs that differ.
fn differing(rows: &[RunRow], cells: usize, metric: &str) -> Option<(f64, f64)> {
    let mut ranges: Vec<Option<(f64, f64)>> = vec![None; cells];
    for row in rows.iter().filter(|row| row.status == Status::Used) {
        if let Some(time) = row.figures.get(metric).filter(|time| *time > 0.0) {
            let range = &mut ranges[row.cell];
            let (least, most) = range.unwrap_or((time, time));
            *range = Some((least.min(time), most.max(time)));
        }
    }
    let ratio = |(least, most): &(f64, f64)| most / least;
    let ranges = ranges.into_iter().flatten();
    let widest = ranges.max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    (ratio(&widest) >= RATIO_LEAST).then_some(widest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Figures;
    use bitcost_model::plan::PlannedRun;

    fn row(cell: usize, trip: f64) -> RunRow {
        let planned = PlannedRun {
            index: 0,
            block: 0,
            cell,
        };
        RunRow {
            figures: Figures::of(|known| (known.name == CORE_TO_CORE).then_some(trip)),
            ..RunRow::new(&planned, Status::Used)
        }
    }

    #[test]
    fn runs_of_one_cell_at_two_distances_are_told() {
        let rows = [row(0, 43.0), row(0, 370.0), row(1, 90.0)];
        assert_eq!(
            machine_caveat(&rows, 2).as_deref(),
            Some(
                "the machine differed between runs: the endpoints' CPUs were 43 to 370 ns from each other"
            )
        );
        let rows = [row(0, 43.0), row(0, 60.0), row(1, 370.0)];
        assert_eq!(machine_caveat(&rows, 2), None, "cells differ by design");
    }
}
