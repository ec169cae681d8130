//! Which runs of an execution had the endpoints' CPUs equally far from each other.
//!
//! A hypervisor may move a virtual CPU to other cores between two runs. Runs in which the CPUs share
//! a cache and runs in which they do not are runs of two machines: medians over both depend on how
//! many of each a cell happens to have.

use std::ops::Range;

use bitcost_model::plan::PlannedRun;

use crate::metrics::{CORE_TO_CORE, Metric};

/// Runs whose round trips differ by less than this factor were made at one distance. Within a
/// distance the means of runs differ by a quarter, to the next one by a factor of 2 or more.
pub(crate) const ONE_DISTANCE: f64 = 1.5;

/// The fewest runs of each cell from which figures are made.
const RUNS_LEAST: usize = 3;

/// Runs of an execution in which the endpoints' CPUs were at different distances.
#[derive(Clone, Debug, PartialEq)]
pub struct Distances {
    /// The shortest and the longest round trip of the runs at one distance, in ns.
    pub kept_ns: (f64, f64),
    /// How many runs these are.
    pub kept: usize,
    /// The shortest and the longest round trip of the others, in ns.
    pub others_ns: (f64, f64),
    /// How many runs these are.
    pub others: usize,
    /// Whether the figures are of the runs at the one distance alone: each cell has enough of them.
    pub is_selected: bool,
}

impl Distances {
    /// The distance at which the cell with the fewest runs has most, of these runs and their round
    /// trips in ns. Absent where the runs of each cell were made at one distance, as cells with
    /// different CPUs are, and with a single cell, whose figures are compared with no other's.
    pub(crate) fn of(mut runs: Vec<(&PlannedRun, f64)>, cells: usize) -> Option<Distances> {
        runs.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        if cells < 2 || !has_moved(&runs, cells) {
            return None;
        }
        let (least, kept) = widest(&runs, cells)?;
        let others = [&runs[..kept.start], &runs[kept.end..]].concat();
        Some(Distances {
            kept_ns: range(&runs[kept.clone()])?,
            kept: kept.len(),
            others_ns: range(&others)?,
            others: others.len(),
            is_selected: least >= RUNS_LEAST,
        })
    }

    /// Why a run with these figures is not in its cell; absent where it is.
    pub(crate) fn refusal(&self, figures: &[(&'static Metric, f64)]) -> Option<String> {
        let ((least, most), trip) = (self.kept_ns, round_trip(figures));
        if !self.is_selected || trip.is_some_and(|trip| (least..=most).contains(&trip)) {
            return None;
        }
        let found = trip.map_or("not measured".to_owned(), |trip| format!("of {trip:.0} ns"));
        Some(format!(
            "core-to-core round trip {found}; the figures are of runs with {least:.0} to {most:.0} ns"
        ))
    }
}

/// The round trip of a run, in ns.
pub(crate) fn round_trip(figures: &[(&'static Metric, f64)]) -> Option<f64> {
    let of = |(metric, _): &&(&'static Metric, f64)| metric.name == CORE_TO_CORE;
    let found = figures.iter().find(of).map(|(_, trip)| *trip);
    found.filter(|trip| *trip > 0.0)
}

/// Whether the runs of a cell were made at several distances, of runs in the order of their round
/// trips.
fn has_moved(runs: &[(&PlannedRun, f64)], cells: usize) -> bool {
    let mut shortest = vec![None; cells];
    runs.iter()
        .any(|(run, trip)| *trip >= *shortest[run.cell].get_or_insert(*trip) * ONE_DISTANCE)
}

/// Of runs in the order of their round trips, those at the distance at which the cell with the fewest
/// runs has most, then that with most runs; and how many runs that cell has. A cell none of whose runs
/// was measured does not count.
fn widest(runs: &[(&PlannedRun, f64)], cells: usize) -> Option<(usize, Range<usize>)> {
    let mut measured = vec![false; cells];
    for (run, _) in runs {
        measured[run.cell] = true;
    }
    let (mut counts, mut end) = (vec![0_usize; cells], 0);
    let mut found: Option<(usize, Range<usize>)> = None;
    for (start, (first, from)) in runs.iter().enumerate() {
        while end < runs.len() && runs[end].1 < from * ONE_DISTANCE {
            counts[runs[end].0.cell] += 1;
            end += 1;
        }
        let of_measured = counts.iter().zip(&measured).filter(|(_, is)| **is);
        let least = of_measured.map(|(count, _)| *count).min()?;
        let best = found.as_ref().map(|(least, range)| (*least, range.len()));
        if best < Some((least, end - start)) {
            found = Some((least, start..end));
        }
        counts[first.cell] -= 1;
    }
    found
}

/// The shortest and the longest round trip of runs in the order of these.
fn range(runs: &[(&PlannedRun, f64)]) -> Option<(f64, f64)> {
    Some((runs.first()?.1, runs.last()?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distances of runs of these cells with these round trips.
    fn distances(trips: &[(usize, f64)], cells: usize) -> Option<Distances> {
        let runs: Vec<PlannedRun> = trips
            .iter()
            .enumerate()
            .map(|(index, (cell, _))| PlannedRun {
                index: index as u32,
                block: 0,
                cell: *cell,
            })
            .collect();
        let with_trips: Vec<_> = runs
            .iter()
            .zip(trips.iter().map(|(_, trip)| *trip))
            .collect();
        Distances::of(with_trips, cells)
    }

    #[test]
    fn runs_at_one_distance_are_not_divided() {
        assert_eq!(distances(&[(0, 80.0), (1, 95.0), (0, 110.0)], 2), None);
        assert_eq!(distances(&[], 2), None);
    }

    #[test]
    fn the_distance_of_which_every_cell_has_most_runs_counts() {
        let mut trips = vec![(0, 85.0), (0, 86.0), (0, 88.0), (0, 370.0)];
        trips.extend([(1, 90.0), (1, 84.0), (1, 87.0), (1, 200.0), (1, 365.0)]);
        let found = distances(&trips, 2).expect("two distances");
        assert!(found.is_selected);
        assert_eq!((found.kept, found.others), (6, 3));
        assert_eq!(
            (found.kept_ns, found.others_ns),
            ((84.0, 90.0), (200.0, 370.0))
        );
    }

    #[test]
    fn a_cell_with_too_few_runs_at_every_distance_keeps_all() {
        let trips = [
            (0, 85.0),
            (0, 86.0),
            (0, 88.0),
            (1, 370.0),
            (1, 365.0),
            (1, 90.0),
        ];
        let found = distances(&trips, 2).expect("two distances");
        assert!(!found.is_selected);
        assert_eq!(found.refusal(&[]), None);
    }

    #[test]
    fn cells_on_cpus_of_different_distances_are_not_divided() {
        let own = [(0, 22.0), (0, 24.0), (0, 21.0), (1, 88.0), (1, 86.0)];
        assert_eq!(distances(&own, 2), None);
        let moved = [&own[..], &[(1, 370.0)]].concat();
        assert!(distances(&moved, 2).is_some_and(|found| !found.is_selected));
    }

    #[test]
    fn one_cell_is_compared_with_no_other() {
        let trips = [(0, 85.0), (0, 86.0), (0, 88.0), (0, 370.0)];
        assert_eq!(distances(&trips, 1), None);
    }
}
