//! The CPU time that each stack of a profile stands for.

use std::collections::BTreeMap;

use bitcost_model::profile::{Profile, ProfileEvent, ProfiledStack, ProfiledTask, is_softirq};
use bitcost_model::record::{Role, ThreadKind};

use super::owner::Place;
use crate::metrics::RunView;
use crate::metrics::cpu::{span_seconds, thread_seconds};

/// The CPU seconds per second of each sample of a profile.
pub(super) struct Weights {
    window_ns: f64,
    /// The samples that the rate requests of a CPU in the window.
    requested: f64,
    /// The share of samples whose stack was kept. The time of the others is divided among these.
    kept: f64,
    /// By how much samples of a task outside of soft interrupts stand for more than their share of
    /// their CPU's time.
    factors: BTreeMap<ProfiledTask, f64>,
}

impl Weights {
    /// The weights of a profile: each CPU's time is divided evenly among its samples, and then that of
    /// an end's threads, outside of soft interrupts, in the proportion of their clocks.
    pub fn of(profile: &Profile, place: &Place, run: &RunView) -> Weights {
        let counted: u64 = profile.stacks.iter().map(|stack| stack.count).sum();
        let mut weights = Weights {
            window_ns: profile.window_ns.max(1) as f64,
            requested: (f64::from(profile.rate_hz) * profile.window_ns as f64 / 1e9).max(1.0),
            kept: (counted.max(1) as f64 / profile.samples.max(1) as f64).min(1.0),
            factors: BTreeMap::new(),
        };
        let mut sums: BTreeMap<&ProfiledTask, [f64; 2]> = BTreeMap::new();
        for sampled in &profile.stacks {
            let [soft, own] = sums.entry(&sampled.task).or_default();
            match is_softirq(&sampled.stack) {
                true => *soft += weights.cpus(sampled),
                false => *own += weights.cpus(sampled),
            }
        }
        let threads = sums.into_iter().filter_map(|(task, [soft, sampled])| {
            let (end, clock) = clock(task, place, run)?;
            let clock = clock - soft;
            (sampled > 0.0 && clock > 0.0).then(|| Threads {
                task: task.clone(),
                end,
                sampled,
                clock,
            })
        });
        weights.factors = factors(&threads.collect::<Vec<_>>());
        weights
    }

    /// The CPU seconds per second of the samples of a stack.
    pub fn cpus(&self, sampled: &ProfiledStack) -> f64 {
        let cpus = match sampled.time_ns {
            Some(ns) => ns as f64 / self.window_ns,
            None => sampled.count as f64 / self.requested,
        };
        let factor = match self.factors.get(&sampled.task) {
            Some(factor) if !is_softirq(&sampled.stack) => *factor,
            _ => 1.0,
        };
        cpus * factor / self.kept
    }
}

/// The threads of a task outside of soft interrupts, in CPU seconds per second.
struct Threads {
    task: ProfiledTask,
    end: Role,
    /// By their samples.
    sampled: f64,
    /// By their clocks.
    clock: f64,
}

/// The factor of each task. What the samples of an end stand for in all stays as it is.
fn factors(threads: &[Threads]) -> BTreeMap<ProfiledTask, f64> {
    let factor = |own: &Threads| {
        let of_end = threads.iter().filter(|other| other.end == own.end);
        let (sampled, clock) = of_end.fold((0.0, 0.0), |(sampled, clock), other| {
            (sampled + other.sampled, clock + other.clock)
        });
        let factor = own.clock / own.sampled * sampled / clock;
        (own.task.clone(), factor)
    };
    threads.iter().map(factor).collect()
}

/// The end of a task and its CPU seconds per second by the clocks of its threads; absent where these
/// were not read.
fn clock(task: &ProfiledTask, place: &Place, run: &RunView) -> Option<(Role, f64)> {
    let (role, kind) = match task {
        ProfiledTask::Sender => (Role::Sender, ThreadKind::Traffic),
        ProfiledTask::Receiver => (Role::Receiver, ThreadKind::Traffic),
        ProfiledTask::Napi(device) => (place.end_of(device)?, ThreadKind::Napi),
        _ => return None,
    };
    let (seconds, _) = thread_seconds(run.end(role), kind)?;
    Some((role, seconds / span_seconds(run.end(role))?))
}

/// The share of the samples requested of busy CPUs that a clock did not take; 0 of cycles, whose rate
/// the kernel adapts, and where the time of the CPUs is not known.
pub(super) fn missed(profile: &Profile) -> f64 {
    let timed = profile
        .stacks
        .iter()
        .filter_map(|stack| Some((stack.count, stack.time_ns?)));
    let (taken, ns) = timed.fold((0, 0), |(taken, all), (count, ns)| {
        (taken + count, all + ns)
    });
    let requested = f64::from(profile.rate_hz) * ns as f64 / 1e9;
    match profile.event {
        ProfileEvent::CpuClock if requested > 0.0 => (1.0 - taken as f64 / requested).max(0.0),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_an_end_share_its_samples_as_their_clocks_say() {
        let napi = || ProfiledTask::Napi("eth0".to_owned());
        let threads = |task, end, sampled, clock| Threads {
            task,
            end,
            sampled,
            clock,
        };
        let found = factors(&[
            threads(ProfiledTask::Sender, Role::Sender, 0.5, 0.25),
            threads(ProfiledTask::Receiver, Role::Receiver, 0.25, 0.375),
            threads(napi(), Role::Receiver, 0.75, 0.375),
        ]);
        assert_eq!(found[&ProfiledTask::Sender], 1.0);
        let receiver = [&ProfiledTask::Receiver, &napi()].map(|task| found[task]);
        assert_eq!(receiver, [2.0, 2.0 / 3.0]);
    }
}
