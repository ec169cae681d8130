//! The state of the machine that the runs of a study are to have in common, and what may be spent on
//! it.

use std::collections::BTreeMap;
use std::time::Duration;

use bitcost_model::event::{Event, Repeats};
use bitcost_model::machine_state::{CpuState, DistanceState, GAP, MachineState};
use bitcost_model::plan::PlannedRun;
use bitcost_model::record::Role;

/// The part of the time of the runs that repeating may take, unless the user says otherwise.
pub const STATE_SHARE: u32 = 4;

/// The share of the window that a run may lose to other guests in addition to what the quietest run
/// lost.
const STOLEN_MORE: f64 = 0.1;

/// The share of the first runs between two CPUs of which more must have a distance before it can be the
/// study's: a distance that was seen only for a moment would have nearly every run repeated without success.
const OFTEN: f64 = 0.25;

/// Runs that are repeated because the machine was in another state, and for how long.
#[derive(Clone, Debug, Default)]
pub struct StateLimits {
    /// The time that waiting and repeating may take; absent: a quarter of that of the runs made.
    pub budget: Option<Duration>,
    /// The time after which nothing is repeated, from now.
    pub within: Option<Duration>,
    /// The distances of an earlier execution that the runs are to have; for CPUs that are not among
    /// them the nearest that over a quarter of the first runs have.
    pub states: Vec<DistanceState>,
}

/// The states of the runs so far, and which of them is the study's.
#[derive(Default)]
pub struct Watch {
    limits: Option<StateLimits>,
    /// When repeating must end, on the transport's clock.
    ends: Option<Duration>,
    /// The study's state.
    states: Vec<DistanceState>,
    /// Whether runs that are made now are among the first, of which one state is the study's.
    is_first: bool,
    /// The CPUs and the round trips of the first runs, in ns.
    first: Vec<([u32; 2], f64)>,
    /// The longest time of the fixed loop in the study's state, in each cell for each endpoint.
    slowest: BTreeMap<(usize, Role), f64>,
    /// The least share of time stolen from each endpoint.
    least_stolen: BTreeMap<Role, f64>,
    /// The state of each run with a result.
    made: BTreeMap<u32, (PlannedRun, MachineState)>,
    /// The time that the runs of the plan took.
    runs: Duration,
    /// The time that waiting and repeating took.
    pub spent: Duration,
    /// How often a run was repeated.
    pub repeated: u32,
}

impl Watch {
    /// Allows to repeat runs from now on.
    pub fn limit(&mut self, limits: StateLimits, now: Duration) {
        self.ends = limits.within.map(|within| now + within);
        for state in &limits.states {
            self.states.retain(|known| known.cpus != state.cpus);
            self.states.push(*state);
        }
        self.limits = Some(limits);
    }

    /// Starts with the runs of another plan. What is known of the distances remains.
    pub fn begin(&mut self) {
        *self = Watch {
            limits: self.limits.take(),
            ends: self.ends,
            states: std::mem::take(&mut self.states),
            first: std::mem::take(&mut self.first),
            is_first: true,
            ..Watch::default()
        };
    }

    /// From now on the study's state does not change: the first runs were made.
    pub fn fix(&mut self) {
        self.is_first = false;
    }

    /// Takes the result of a run, which takes this time by the plan.
    pub fn take(&mut self, planned: &PlannedRun, ended: &Event, time: Duration) {
        let Event::RunEnded {
            sender, receiver, ..
        } = ended
        else {
            return;
        };
        let state = MachineState::of(sender, receiver);
        self.take_distance(&state);
        for (role, end) in by_role(&state) {
            if let Some(stolen) = end.stolen {
                let least = self.least_stolen.entry(role).or_insert(stolen);
                *least = least.min(stolen);
            }
        }
        if self.made.insert(planned.index, (*planned, state)).is_none() {
            self.runs += time;
        }
        for (end, role) in [Role::Sender, Role::Receiver].into_iter().enumerate() {
            let of_cell = self.made.values();
            let of_cell = of_cell.filter(|(made, _)| made.cell == planned.cell);
            let loops = of_cell.filter_map(|(_, state)| Some(state.ends[end].speed?.median_ns));
            if let Some(slowest) = most_frequent(loops.collect()) {
                self.slowest.insert((planned.cell, role), slowest);
            }
        }
    }

    fn take_distance(&mut self, state: &MachineState) {
        let Some((cpus, times)) = state.distance.filter(|(_, times)| !times.has_changed()) else {
            return;
        };
        let given = self.limits.iter().flat_map(|limits| &limits.states);
        let is_given = given.into_iter().any(|given| given.cpus == cpus);
        let trip = times.median_ns;
        if self.is_first && !is_given {
            self.first.push((cpus, trip));
            self.states.retain(|known| known.cpus != cpus);
            self.states.extend(nearest_often(cpus, &self.first));
        } else if let Some(known) = self.states.iter_mut().find(|known| known.cpus == cpus) {
            if known.has(trip) {
                known.widen(trip);
            }
        } else {
            self.states.push(DistanceState {
                cpus,
                round_trip_ns: (trip, trip),
            });
        }
    }

    /// The study's distance between two CPUs.
    pub fn distance(&self, cpus: [u32; 2]) -> Option<&DistanceState> {
        self.states.iter().find(|known| known.cpus == cpus)
    }

    /// The CPUs whose distance was wrong in this run's last result.
    pub fn far_cpus(&self, run: u32) -> Option<[u32; 2]> {
        let (_, state) = self.made.get(&run)?;
        self.other_distance(state)?;
        state.distance.map(|(cpus, _)| cpus)
    }

    /// In what the last result of a run is of another state than the study's, in words; absent where
    /// it is not, and where it has no result.
    pub fn other(&self, run: u32) -> Option<String> {
        let (planned, state) = self.made.get(&run)?;
        let distance = self.other_distance(state);
        distance
            .or_else(|| by_role(state).find_map(|(role, end)| self.other_cpus(planned, role, end)))
    }

    fn other_distance(&self, state: &MachineState) -> Option<String> {
        let ([first, second], times) = state.distance?;
        let trip = format!("the round trip between CPU {first} and CPU {second}");
        if times.has_changed() {
            let (before, after) = (times.before_ns, times.after_ns);
            return Some(format!(
                "{trip} changed from {before:.0} to {after:.0} ns during the run"
            ));
        }
        let known = self.distance([first, second])?;
        let ((least, most), now) = (known.round_trip_ns, times.median_ns);
        (!known.has(now)).then(|| {
            format!("{trip} was {now:.0} ns; in the study's state it is {least:.0} to {most:.0} ns")
        })
    }

    fn other_cpus(&self, planned: &PlannedRun, role: Role, end: CpuState) -> Option<String> {
        let name = role.name();
        let slowest = self.slowest.get(&(planned.cell, role)).copied();
        let slow = end.speed.zip(slowest);
        if let Some((now, slowest)) = slow.filter(|(now, slowest)| now.median_ns >= slowest * GAP) {
            let factor = now.median_ns / slowest;
            return Some(format!(
                "a CPU of the {name} was slower by a factor of {factor:.1} than in other runs of the cell"
            ));
        }
        let least = self.least_stolen.get(&role).copied().unwrap_or_default();
        let stolen = end.stolen.filter(|stolen| *stolen > least + STOLEN_MORE)?;
        Some(format!(
            "{:.0} % of the time of a CPU of the {name} was stolen; {:.0} % in the quietest run",
            100.0 * stolen,
            100.0 * least
        ))
    }

    /// The runs whose last result is of another state, in their order.
    pub fn pending(&self) -> Vec<PlannedRun> {
        let made = self.made.values().map(|(planned, _)| planned);
        let other = made.filter(|planned| self.other(planned.index).is_some());
        other.copied().collect()
    }

    fn allowed(&self) -> Duration {
        let budget = |limits: &StateLimits| limits.budget.unwrap_or(self.runs / STATE_SHARE);
        self.limits.as_ref().map_or(Duration::ZERO, budget)
    }

    /// The time that waiting and repeating may still take.
    pub fn left(&self, now: Duration) -> Duration {
        let left = self.allowed().saturating_sub(self.spent);
        self.ends
            .map_or(left, |ends| left.min(ends.saturating_sub(now)))
    }

    /// What was done about runs in other states; absent where there was none.
    pub fn met(&self) -> Option<Repeats> {
        let left: Vec<u32> = self.pending().iter().map(|planned| planned.index).collect();
        let is_met = self.limits.is_some() && (self.repeated > 0 || !left.is_empty());
        is_met.then(|| Repeats {
            states: self.states.clone(),
            repeated: self.repeated,
            left,
            spent_ms: self.spent.as_millis() as u64,
            allowed_ms: self.allowed().as_millis() as u64,
        })
    }
}

/// The nearest distance between these CPUs that more than [`OFTEN`] of their runs have.
fn nearest_often(cpus: [u32; 2], runs: &[([u32; 2], f64)]) -> Option<DistanceState> {
    let trips = || runs.iter().filter(|run| run.0 == cpus).copied();
    let enough = OFTEN * trips().count() as f64;
    let mut classes = DistanceState::classes(trips()).into_iter();
    classes.find(|class| trips().filter(|run| class.has(run.1)).count() as f64 > enough)
}

fn by_role(state: &MachineState) -> impl Iterator<Item = (Role, CpuState)> {
    [Role::Sender, Role::Receiver].into_iter().zip(state.ends)
}

/// The longest of the times in the state that most have, of equals in the shorter one; one state ends
/// where the next time in order is longer by [`GAP`] or more.
fn most_frequent(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    let states = times.chunk_by(|a, b| *b < a * GAP);
    let most = states.rev().max_by_key(|state| state.len())?;
    most.last().copied()
}
