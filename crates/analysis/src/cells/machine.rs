//! Whether the machine was the same in all runs of a cell: how far the endpoints' CPUs were from each
//! other, and how long the fixed loop took on the slowest of them.
//!
//! A hypervisor may move a virtual CPU to other cores between two runs, or let another guest run there.

use super::runs::CellRuns;
use crate::metrics::{CORE_TO_CORE, SPEED};

/// The least ratio of two times of one cell from which the machine was another one. Round trips at one
/// distance differ by a quarter, and those at the next distance are longer by a factor of 2 or more.
const RATIO_LEAST: f64 = 1.5;

/// `the machine differed between runs: …`; absent where it did not.
pub(crate) fn machine_caveat(cells: &[CellRuns]) -> Option<String> {
    let words = machine_words(|metric| differing(cells, metric))?;
    Some(format!("the machine differed between runs: {words}"))
}

/// The times that tell of the machine, where two of them differ.
pub(crate) fn machine_words(two: impl Fn(&str) -> Option<(f64, f64)>) -> Option<String> {
    let trips = two(CORE_TO_CORE)
        .map(|(a, b)| format!("the endpoints' CPUs were {a:.0} to {b:.0} ns from each other"));
    let loops = two(SPEED).map(|(a, b)| format!("the fixed loop took {a:.2} to {b:.2} µs"));
    let words: Vec<String> = trips.into_iter().chain(loops).collect();
    (!words.is_empty()).then(|| words.join(", and "))
}

/// The shortest and the longest time of this metric in the cell in which they are farthest apart; absent
/// where no cell has two runs that differ.
fn differing(cells: &[CellRuns], metric: &str) -> Option<(f64, f64)> {
    let range = |runs: &CellRuns| {
        let times = runs.values(metric).into_iter().map(|(_, time)| time);
        let times = times.filter(|time| *time > 0.0).map(|time| (time, time));
        times.reduce(|range, (time, _)| (range.0.min(time), range.1.max(time)))
    };
    let ratio = |(least, most): &(f64, f64)| most / least;
    let ranges = cells.iter().filter_map(range);
    let widest = ranges.max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    (ratio(&widest) >= RATIO_LEAST).then_some(widest)
}
