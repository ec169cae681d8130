//! The state of the machine in which a run was made: how far the endpoints' CPUs were from each
//! other, how fast they were, and how much of their time a hypervisor gave to others.
//!
//! A hypervisor may move a virtual CPU to another core, or let another guest run on it, at any time.
//! Runs in different states are runs of two machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counters::CoreToCore;
use crate::record::{EndpointRecord, Sample};

/// The least ratio of two neighbouring times, in their order, between which one state ends and the
/// next begins. Round trips of runs at one distance differ by a quarter, and those at the next
/// distance are longer by a factor of 2 or more.
pub const GAP: f64 = 1.5;

/// The samples of one edge of a run. The shorter one counts: a single long one may be an
/// interruption.
const EDGE: usize = 2;

/// Samples of a time during a run, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Before the window.
    pub before_ns: f64,
    /// After it.
    pub after_ns: f64,
    /// The median of all samples.
    pub median_ns: f64,
}

impl Times {
    /// The times of samples in their order, the first before the window and the last at its end;
    /// absent where there is none.
    pub fn of(samples_ns: &[u32]) -> Option<Times> {
        let mut sorted = samples_ns.to_vec();
        sorted.sort_unstable();
        let median_ns = f64::from(*sorted.get(sorted.len() / 2)?);
        let edge = EDGE.min(samples_ns.len());
        let shorter = |edge: &[u32]| edge.iter().min().map(|ns| f64::from(*ns));
        Some(Times {
            before_ns: shorter(&samples_ns[..edge])?,
            after_ns: shorter(&samples_ns[samples_ns.len() - edge..])?,
            median_ns,
        })
    }

    /// Whether they were in one state before the window and in another after it.
    pub fn has_changed(&self) -> bool {
        let (least, most) = (
            self.before_ns.min(self.after_ns),
            self.before_ns.max(self.after_ns),
        );
        most >= least * GAP
    }
}

/// What is known of the CPUs of one endpoint during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuState {
    /// The fixed loop on the slowest of the endpoint's CPUs.
    pub speed: Option<Times>,
    /// The share of the window, from 0 to 1, that the hypervisor gave to others, on the CPU that
    /// lost most.
    pub stolen: Option<f64>,
}

/// The state of the machine in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachineState {
    /// The endpoints' CPUs, the lower number first, and the round trip of a cache line between them;
    /// absent where they are on different machines, and where it was not measured.
    pub distance: Option<([u32; 2], Times)>,
    /// The CPUs of the sender and of the receiver.
    pub ends: [CpuState; 2],
}

impl MachineState {
    /// The state in a run with these records.
    pub fn of(sender: &EndpointRecord, receiver: &EndpointRecord) -> MachineState {
        let mut measured = [sender, receiver]
            .into_iter()
            .filter_map(|end| end.core_to_core.as_ref());
        let of_pair = |found: &CoreToCore| {
            let mut cpus = found.cpus;
            cpus.sort_unstable();
            Some((cpus, Times::of(&found.round_trip_ns)?))
        };
        MachineState {
            distance: measured.next().and_then(of_pair),
            ends: [sender, receiver].map(|end| CpuState {
                speed: slowest(end),
                stolen: stolen(end),
            }),
        }
    }
}

fn slowest(end: &EndpointRecord) -> Option<Times> {
    let cpus = end.speed.iter().filter_map(|cpu| Times::of(&cpu.loop_ns));
    cpus.max_by(|a, b| a.median_ns.total_cmp(&b.median_ns))
}

fn stolen(end: &EndpointRecord) -> Option<f64> {
    let ticks = end.window_seconds() * end.ticks_per_second as f64;
    let (first, last) = (end.samples.first()?, end.samples.last()?);
    let of_cpu = |sample: &Sample, cpu: u32| {
        let mut cpus = sample.cpus.iter();
        cpus.find(|one| one.cpu == cpu).map(|one| one.steal)
    };
    let lost = end.speed.iter().filter_map(|speed| {
        let (before, after) = (of_cpu(first, speed.cpu)?, of_cpu(last, speed.cpu)?);
        Some(after.saturating_sub(before) as f64 / ticks)
    });
    lost.filter(|share| share.is_finite()).reduce(f64::max)
}

/// Runs of one distance: two CPUs, and the round trips between them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DistanceState {
    /// The CPUs, the lower number first.
    pub cpus: [u32; 2],
    /// The shortest and the longest round trip of a run, in ns.
    pub round_trip_ns: (f64, f64),
}

impl DistanceState {
    /// Whether a run with this round trip between these CPUs is at this distance: no gap is between
    /// it and the runs that are.
    pub fn has(&self, trip_ns: f64) -> bool {
        let (least, most) = self.round_trip_ns;
        trip_ns * GAP > least && trip_ns < most * GAP
    }

    /// Takes a run at this distance.
    pub fn widen(&mut self, trip_ns: f64) {
        let (least, most) = &mut self.round_trip_ns;
        (*least, *most) = (least.min(trip_ns), most.max(trip_ns));
    }

    /// The distances of runs with these CPUs and round trips in ns, by CPUs and from the nearest: one
    /// ends where the next round trip in order is longer by [`GAP`] or more.
    pub fn classes(runs: impl IntoIterator<Item = ([u32; 2], f64)>) -> Vec<DistanceState> {
        let mut runs: Vec<([u32; 2], f64)> = runs.into_iter().collect();
        runs.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut found: Vec<DistanceState> = Vec::new();
        for (cpus, trip) in runs {
            match found.last_mut() {
                Some(last) if last.cpus == cpus && last.has(trip) => last.widen(trip),
                _ => found.push(DistanceState {
                    cpus,
                    round_trip_ns: (trip, trip),
                }),
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::CpuSpeed;
    use crate::record::CpuTicks;

    #[test]
    fn one_long_sample_is_no_change() {
        let has_changed = |samples: &[u32]| Times::of(samples).expect("samples").has_changed();
        assert!(!has_changed(&[43, 43, 369, 43, 45]));
        assert!(!has_changed(&[44, 43, 45, 44, 363]));
        assert!(!has_changed(&[44]));
        assert!(has_changed(&[44, 45, 43, 341, 358]));
        assert!(has_changed(&[361, 391, 354, 44, 45]));
        assert_eq!(Times::of(&[]), None);
    }

    #[test]
    fn classes_end_at_gaps_and_are_of_two_cpus() {
        let near = [41.0, 43.0, 53.0, 60.0, 85.0].map(|trip| ([0, 1], trip));
        let far = [300.0, 410.0, 210.0].map(|trip| ([0, 1], trip));
        let others = [([0, 2], 300.0)];
        let found = DistanceState::classes(near.into_iter().chain(far).chain(others));
        let ranges: Vec<_> = found
            .iter()
            .map(|one| (one.cpus, one.round_trip_ns))
            .collect();
        let expected = [
            ([0, 1], (41.0, 85.0)),
            ([0, 1], (210.0, 410.0)),
            ([0, 2], (300.0, 300.0)),
        ];
        assert_eq!(ranges, expected);
        assert!(found[0].has(120.0) && !found[0].has(130.0) && !found[1].has(130.0));
    }

    #[test]
    fn a_record_says_what_its_cpus_were() {
        let sample = |steal| Sample {
            cpus: vec![CpuTicks {
                cpu: 1,
                steal,
                ..CpuTicks::default()
            }],
            ..Sample::default()
        };
        let end = EndpointRecord {
            core_to_core: Some(CoreToCore {
                cpus: [1, 0],
                round_trip_ns: vec![44, 46, 45],
            }),
            speed: vec![CpuSpeed {
                cpu: 1,
                loop_ns: vec![3700, 3710],
            }],
            samples: vec![sample(3), sample(13)],
            ticks_per_second: 100,
            window_end_ns: 1_000_000_000,
            ..EndpointRecord::default()
        };
        let state = MachineState::of(&end, &EndpointRecord::default());
        let (cpus, times) = state.distance.expect("a distance");
        assert_eq!((cpus, times.median_ns), ([0, 1], 45.0));
        assert_eq!(state.ends[0].stolen, Some(0.1));
        assert_eq!(
            state.ends[0].speed.map(|speed| speed.median_ns),
            Some(3710.0)
        );
        assert_eq!(state.ends[1], CpuState::default());
    }
}
