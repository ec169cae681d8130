//! The states of the machine in which the runs of a comparison were made: how far the endpoints' CPUs were from each
//! other.
//!
//! A hypervisor may move a CPU to other cores. Runs are compared with runs of the same state; each side may have left out
//! those of a state that the other one has kept, so all that have figures are taken.

use crate::cells::{RunRow, Status};
use crate::metrics::{CORE_TO_CORE, Figures};

/// Runs whose round trips differ by less than this factor were made at one distance.
pub(crate) const ONE_DISTANCE: f64 = 1.5;

fn round_trip(figures: &Figures) -> Option<f64> {
    figures.get(CORE_TO_CORE).filter(|trip| *trip > 0.0)
}

/// A state has at least this share of the runs; fewer were made while a CPU was moved.
const SHARE_LEAST: f64 = 0.1;

/// The fewest runs of a state on each side of a cell.
const RUNS_LEAST: usize = 2;

/// The shortest and the longest round trip of a state, in ns.
type Range = (f64, f64);

/// The states of these runs, the most frequent first; empty where none was measured.
pub(super) fn states<'a>(rows: impl Iterator<Item = &'a RunRow>) -> Vec<Range> {
    let mut trips: Vec<f64> = rows.filter_map(|row| round_trip(&row.figures)).collect();
    trips.sort_by(f64::total_cmp);
    let least = (SHARE_LEAST * trips.len() as f64).max(RUNS_LEAST as f64);
    let mut found = Vec::new();
    while let Some(range) = densest(&trips, least) {
        trips.retain(|trip| !is_in(*trip, range));
        found.push(range);
    }
    found
}

/// The range of one distance with most of these sorted round trips; absent where it has fewer than `least`.
fn densest(trips: &[f64], least: f64) -> Option<Range> {
    let ranges = trips.iter().enumerate().map(|(start, from)| {
        let end = trips.partition_point(|trip| *trip < from * ONE_DISTANCE);
        (end - start, (*from, trips[end - 1]))
    });
    let best = ranges.max_by_key(|(count, _)| *count)?;
    (best.0 as f64 >= least).then_some(best.1)
}

fn is_in(trip: f64, (least, most): Range) -> bool {
    (least..=most).contains(&trip)
}

pub(crate) fn used<'a>(rows: &[&'a RunRow]) -> Vec<&'a RunRow> {
    let used = rows.iter().filter(|row| row.status == Status::Used);
    used.copied().collect()
}

/// The runs of the blocks in which those of both sides were made in one state of the machine.
pub(super) fn pairs_of_one_state<'a>(
    old: &[&'a RunRow],
    new: &[&'a RunRow],
) -> (Vec<&'a RunRow>, Vec<&'a RunRow>) {
    let has_figures = |row: &&&RunRow| row.status == Status::Used;
    let is_near = |a: &RunRow, b: &RunRow| {
        let trips = round_trip(&a.figures).zip(round_trip(&b.figures));
        trips.is_none_or(|(a, b)| a.max(b) < ONE_DISTANCE * a.min(b))
    };
    let pairs = old.iter().filter(has_figures).filter_map(|was| {
        let mut others = new.iter().filter(has_figures);
        let other = others.find(|is| is.block == was.block)?;
        is_near(was, other).then_some((*was, *other))
    });
    pairs.unzip()
}

/// The runs of each execution of both sides of a cell, the old side first.
pub(super) type Executions<'a> = [Vec<Vec<&'a RunRow>>; 2];

/// The runs that no other program disturbed; absent where a side has too few of them, because what the others took is
/// different each time.
fn undisturbed<'a>(cell: &Executions<'a>) -> Option<Executions<'a>> {
    let calm = cell.each_ref().map(|side| {
        let runs = side.iter().map(|runs| {
            let calm = runs.iter().copied().filter(|row| !row.is_disturbed);
            calm.collect::<Vec<_>>()
        });
        runs.collect::<Vec<_>>()
    });
    let has_calm = calm
        .each_ref()
        .map(|side| side.iter().map(Vec::len).sum::<usize>() >= RUNS_LEAST);
    let is_disturbed = |side: &Vec<Vec<&RunRow>>| side.iter().flatten().any(|row| row.is_disturbed);
    match has_calm {
        [true, true] => Some(calm),
        _ if !cell.iter().any(is_disturbed) => Some(cell.clone()),
        _ => None,
    }
}

/// The runs that were made in the state of which the side with fewer has most; absent where the sides have no state in
/// common. Where no state was measured on a side, its used runs are taken as they are.
pub(super) fn in_common<'a>(cell: &Executions<'a>, states: &[Range]) -> Option<Executions<'a>> {
    let cell = &undisturbed(cell)?;
    let of = |is_wanted: &dyn Fn(&RunRow) -> bool| -> Executions<'a> {
        let runs =
            |runs: &Vec<&'a RunRow>| runs.iter().copied().filter(|row| is_wanted(row)).collect();
        cell.each_ref().map(|side| side.iter().map(runs).collect())
    };
    let count = |cell: &Executions| {
        let side = |side: &Vec<Vec<&RunRow>>| side.iter().map(Vec::len).sum::<usize>();
        side(&cell[0]).min(side(&cell[1]))
    };
    let has_state = |row: &RunRow| row.status == Status::Used && round_trip(&row.figures).is_some();
    if count(&of(&has_state)) == 0 {
        return Some(of(&|row| row.status == Status::Used));
    }
    let with_figures = |row: &RunRow| row.status == Status::Used;
    let of_state = |range: &Range| {
        of(&|row| {
            with_figures(row) && round_trip(&row.figures).is_some_and(|trip| is_in(trip, *range))
        })
    };
    let best = states.iter().map(of_state).rev().max_by_key(count)?;
    // A side with a single run has nothing to choose from.
    let least = count(&of(&with_figures)).min(RUNS_LEAST);
    (count(&best) >= least).then_some(best)
}
