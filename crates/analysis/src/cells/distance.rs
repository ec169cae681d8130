//! Which runs of an execution had the endpoints' CPUs equally far from each other.
//!
//! A hypervisor may move a virtual CPU to other cores between two runs. Runs in which the CPUs share
//! a cache and runs in which they do not are runs of two machines: medians over both depend on how
//! many of each a cell happens to have. CPUs that differ by design have their own distances.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use bitcost_model::machine_state::{DistanceState, GAP, MachineState, Times};

use crate::metrics::{CORE_TO_CORE, Figures};

/// Runs whose round trips differ by less than this factor were made at one distance.
pub(crate) const ONE_DISTANCE: f64 = GAP;

/// The fewest runs of each cell from which figures are made.
const RUNS_LEAST: usize = 3;

/// A run of which there are figures, with the round trips between the endpoints' CPUs.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    pub cell: usize,
    pub cpus: [u32; 2],
    pub times: Times,
}

impl Placed {
    /// Its round trip, in ns; where that changed, the longer one.
    fn trip_ns(&self) -> f64 {
        match self.times.has_changed() {
            true => self.times.before_ns.max(self.times.after_ns),
            false => self.times.median_ns,
        }
    }

    fn is_in(&self, state: &DistanceState) -> bool {
        let (least, most) = state.round_trip_ns;
        state.cpus == self.cpus
            && !self.times.has_changed()
            && (least..=most).contains(&self.times.median_ns)
    }
}

/// The distance of which the figures are, between two CPUs.
struct Kept {
    state: DistanceState,
    /// How many runs the cell with the fewest has.
    least: usize,
}

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
    /// The one distance, of each two CPUs.
    pub states: Vec<DistanceState>,
}

/// The distance at which each two CPUs were in most runs of the cell that has fewest: the study's
/// where that is known and has enough runs.
pub(crate) fn kept_states(runs: &[Placed], study: &[DistanceState]) -> Vec<DistanceState> {
    kept(runs, study).iter().map(|kept| kept.state).collect()
}

fn kept(runs: &[Placed], study: &[DistanceState]) -> Vec<Kept> {
    let classes = classes(runs);
    let pairs: BTreeSet<[u32; 2]> = classes.iter().map(|class| class.cpus).collect();
    let of_pair = |cpus: [u32; 2]| {
        let ranked = classes
            .iter()
            .filter(|class| class.cpus == cpus)
            .map(|class| {
                let least = least(runs, class);
                let is_study = study.iter().any(|state| {
                    state.cpus == cpus
                        && (state.has(class.round_trip_ns.0) || class.has(state.round_trip_ns.0))
                });
                let all = runs.iter().filter(|run| run.is_in(class)).count();
                ((is_study && least >= RUNS_LEAST, least, all), *class)
            });
        // Of equals, the nearest.
        let best = ranked.min_by_key(|(rank, _)| Reverse(*rank));
        best.map(|((_, least, _), state)| Kept { state, least })
    };
    pairs.into_iter().filter_map(of_pair).collect()
}

fn classes(runs: &[Placed]) -> Vec<DistanceState> {
    let steady = runs.iter().filter(|run| !run.times.has_changed());
    DistanceState::classes(steady.map(|run| (run.cpus, run.times.median_ns)))
}

/// How many runs at this distance the cell with the fewest has, of the cells with these CPUs.
fn least(runs: &[Placed], state: &DistanceState) -> usize {
    let mut cells: BTreeMap<usize, usize> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.cpus == state.cpus) {
        *cells.entry(run.cell).or_default() += usize::from(run.is_in(state));
    }
    cells.into_values().min().unwrap_or_default()
}

impl Distances {
    /// The distances of these runs, where `study` is what the execution itself took for its own.
    /// Absent where all were made at one distance between each two CPUs, and with a single cell, whose
    /// figures are compared with no other's.
    pub(crate) fn of(runs: &[Placed], cells: usize, study: &[DistanceState]) -> Option<Distances> {
        let kept = kept(runs, study);
        let has_changed = runs.iter().any(|run| run.times.has_changed());
        if cells < 2 || (classes(runs).len() == kept.len() && !has_changed) {
            return None;
        }
        let states: Vec<DistanceState> = kept.iter().map(|kept| kept.state).collect();
        let (near, others): (Vec<&Placed>, Vec<&Placed>) = runs
            .iter()
            .partition(|run| states.iter().any(|state| run.is_in(state)));
        Some(Distances {
            kept_ns: range(&near)?,
            kept: near.len(),
            others_ns: range(&others)?,
            others: others.len(),
            is_selected: kept.iter().all(|kept| kept.least >= RUNS_LEAST),
            states,
        })
    }

    /// Why a run in this state is not in its cell; absent where it is.
    pub(crate) fn refusal(&self, cell: usize, state: &MachineState) -> Option<String> {
        if !self.is_selected {
            return None;
        }
        let run = state
            .distance
            .map(|(cpus, times)| Placed { cell, cpus, times });
        let kept = run.and_then(|run| self.states.iter().find(|kept| kept.cpus == run.cpus));
        let found = match run {
            None => "not measured".to_owned(),
            Some(run) if kept.is_some_and(|kept| run.is_in(kept)) => return None,
            Some(Placed { times, .. }) if times.has_changed() => format!(
                "that changed from {:.0} to {:.0} ns during the run",
                times.before_ns, times.after_ns
            ),
            Some(run) => format!("of {:.0} ns", run.trip_ns()),
        };
        let (least, most) = kept.map_or(self.kept_ns, |kept| kept.round_trip_ns);
        Some(format!(
            "core-to-core round trip {found}; the figures are of runs with {least:.0} to {most:.0} ns"
        ))
    }
}

/// The mean round trip of a run, in ns.
pub(crate) fn round_trip(figures: &Figures) -> Option<f64> {
    figures.get(CORE_TO_CORE).filter(|trip| *trip > 0.0)
}

/// The shortest and the longest round trip of runs.
fn range(runs: &[&Placed]) -> Option<(f64, f64)> {
    let trips = || runs.iter().map(|run| run.trip_ns());
    Some((trips().reduce(f64::min)?, trips().reduce(f64::max)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of this cell on these CPUs, with these samples.
    fn run(cell: usize, cpus: [u32; 2], samples: &[u32]) -> Placed {
        let times = Times::of(samples).expect("samples");
        Placed { cell, cpus, times }
    }

    /// Runs of these cells with these round trips, all on the same CPUs.
    fn runs(trips: &[(usize, u32)]) -> Vec<Placed> {
        let runs = trips.iter();
        runs.map(|(cell, trip)| run(*cell, [0, 1], &[*trip]))
            .collect()
    }

    fn distances(trips: &[(usize, u32)], cells: usize) -> Option<Distances> {
        Distances::of(&runs(trips), cells, &[])
    }

    const TWO: [(usize, u32); 12] = [
        (0, 85),
        (0, 86),
        (0, 88),
        (0, 370),
        (0, 365),
        (0, 372),
        (0, 371),
        (1, 90),
        (1, 84),
        (1, 87),
        (1, 200),
        (1, 365),
    ];

    #[test]
    fn runs_at_one_distance_are_not_divided() {
        assert_eq!(distances(&[(0, 80), (1, 95), (0, 110)], 2), None);
        assert_eq!(distances(&[], 2), None);
    }

    #[test]
    fn the_distance_of_which_every_cell_has_most_runs_counts() {
        let found = distances(&TWO, 2).expect("two distances");
        assert!(found.is_selected);
        assert_eq!((found.kept, found.others), (6, 6));
        assert_eq!(
            (found.kept_ns, found.others_ns),
            ((84.0, 90.0), (200.0, 372.0))
        );
    }

    #[test]
    fn the_studys_distance_counts_where_it_has_enough_runs() {
        let mut trips = TWO.to_vec();
        trips.extend([(1, 360), (1, 362), (1, 361)]);
        let far = distances(&trips, 2).expect("two distances");
        assert_eq!(far.kept_ns, (360.0, 372.0));
        let study = [DistanceState {
            cpus: [0, 1],
            round_trip_ns: (80.0, 82.0),
        }];
        let near = Distances::of(&runs(&trips), 2, &study).expect("two distances");
        assert_eq!(near.kept_ns, (84.0, 90.0));
        trips.retain(|(cell, trip)| *cell == 0 || *trip != 90);
        let few = Distances::of(&runs(&trips), 2, &study).expect("two distances");
        assert_eq!(few.kept_ns, (360.0, 372.0));
    }

    #[test]
    fn a_run_during_which_the_distance_changed_is_left_out() {
        let mut all = runs(&[(0, 44), (0, 45), (0, 43), (1, 44), (1, 46), (1, 43)]);
        let changed = run(1, [0, 1], &[44, 45, 43, 376, 386]);
        all.push(changed);
        let found = Distances::of(&all, 2, &[]).expect("one has changed");
        assert_eq!((found.kept, found.others, found.is_selected), (6, 1, true));
        let state = MachineState {
            distance: Some((changed.cpus, changed.times)),
            ..MachineState::default()
        };
        let why = found.refusal(1, &state).expect("left out");
        assert!(why.contains("changed from 44 to 376 ns"), "{why}");
    }

    #[test]
    fn a_cell_with_too_few_runs_at_every_distance_keeps_all() {
        let trips = [(0, 85), (0, 86), (0, 88), (1, 370), (1, 365), (1, 90)];
        let found = distances(&trips, 2).expect("two distances");
        assert!(!found.is_selected);
        assert_eq!(found.refusal(0, &MachineState::default()), None);
    }

    #[test]
    fn cpus_that_differ_by_design_have_their_own_distances() {
        let near = [22, 24, 21].map(|trip| run(0, [0, 1], &[trip]));
        let far = [88, 86, 87].map(|trip| run(1, [0, 2], &[trip]));
        let own = [near, far].concat();
        assert_eq!(Distances::of(&own, 2, &[]), None);
        let moved = [&own[..], &[run(1, [0, 2], &[370])]].concat();
        let found = Distances::of(&moved, 2, &[]).expect("one has moved");
        assert_eq!((found.kept, found.others, found.is_selected), (6, 1, true));
    }

    #[test]
    fn one_cell_is_compared_with_no_other() {
        assert_eq!(distances(&[(0, 85), (0, 86), (0, 88), (0, 370)], 1), None);
    }
}
