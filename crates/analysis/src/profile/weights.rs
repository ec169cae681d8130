//! The CPU time that each stack of a profile stands for.

use std::collections::BTreeMap;

use bitcost_model::profile::{
    Layer, Profile, ProfileEvent, ProfiledStack, ProfiledTask, is_softirq,
};
use bitcost_model::record::{Role, ThreadKind};

use super::owner::{Owner, Place, end_of_cpu};
use crate::metrics::RunView;
use crate::metrics::cpu;

/// The CPU seconds per second of each stack of a profile, which has this layer. In soft interrupts, and
/// where a stack is no end's, the time of each CPU is divided evenly among its samples.
pub(super) fn weights(
    profile: &Profile,
    layers: &[Option<Layer>],
    place: &Place,
    run: &RunView,
) -> Vec<f64> {
    let (mut cpus, counted) = by_time_and_count(profile);
    let task = |at: usize| &profile.stacks[at].task;
    let is_clock = profile.event == ProfileEvent::CpuClock;
    for end in [Role::Sender, Role::Receiver] {
        let is_own = |at: &usize| end_of(&profile.stacks[*at], place, run) == Some(end);
        let is_soft = |at: &usize| is_softirq(&profile.stacks[*at].stack);
        let own = (0..cpus.len()).filter(is_own);
        let (soft, rest): (Vec<usize>, Vec<usize>) = own.partition(is_soft);
        let mut clocks = Clocks::new();
        for at in &rest {
            let read = || clock(task(*at), place, run).unwrap_or(0.0);
            clocks.entry(task(*at)).or_insert_with(read);
        }
        for at in soft {
            if let Some(clock) = clocks.get_mut(task(at)) {
                *clock -= cpus[at];
            }
        }
        clocks.retain(|_, clock| *clock > 0.0);
        let sampled = |at: &usize| Sampled {
            task: task(*at),
            cpus: if is_clock { counted[*at] } else { cpus[*at] },
            is_hidden: !is_clock || layers[*at].is_some_and(is_around_idle),
        };
        let mut samples: Vec<Sampled> = rest.iter().map(sampled).collect();
        divide(rest.iter().map(|at| cpus[*at]).sum(), &clocks, &mut samples);
        for (at, sampled) in rest.into_iter().zip(samples) {
            cpus[at] = sampled.cpus;
        }
    }
    cpus
}

/// The CPU seconds per second of each stack by its part of the time of its CPU, and by its samples.
fn by_time_and_count(profile: &Profile) -> (Vec<f64>, Vec<f64>) {
    let window_ns = profile.window_ns.max(1) as f64;
    let counted: u64 = profile.stacks.iter().map(|stack| stack.count).sum();
    // The time of samples whose stack was not kept, or that were lost, is divided among the others.
    let kept = (counted.max(1) as f64 / profile.samples.max(1) as f64).min(1.0);
    let taken = counted.max(1) as f64 / (profile.samples + profile.lost).max(1) as f64;
    let expected = f64::from(profile.rate_hz) * window_ns / 1e9 * taken.min(1.0);
    let stacks = profile.stacks.iter().map(|stack| {
        let by_count = stack.count as f64 / expected.max(1.0);
        let by_time = stack.time_ns.map(|ns| ns as f64 / window_ns / kept);
        (by_time.unwrap_or(by_count), by_count)
    });
    stacks.unzip()
}

/// The end of a stack, by its task or by the CPU that it ran on.
fn end_of(stack: &ProfiledStack, place: &Place, run: &RunView) -> Option<Role> {
    match place.of_task(&stack.task) {
        Owner::End(end) => Some(end),
        _ => end_of_cpu(stack.cpu, run),
    }
}

/// The layers of what a CPU does with interrupts disabled before it idles and after, where a clock's
/// samples are not taken.
fn is_around_idle(layer: Layer) -> bool {
    matches!(layer, Layer::Scheduler | Layer::WakeUps)
}

/// The CPU seconds per second of tasks by their clocks, outside of soft interrupts.
type Clocks<'a> = BTreeMap<&'a ProfiledTask, f64>;

/// A stack of an end outside of soft interrupts.
struct Sampled<'a> {
    task: &'a ProfiledTask,
    cpus: f64,
    /// Whether its layer is one that was sampled too rarely, where samples are missing.
    is_hidden: bool,
}

/// Divides the time of an end outside of soft interrupts: each task has that of its clock, the others that of
/// their samples, and what is left is around idle.
fn divide(whole: f64, clocks: &Clocks, samples: &mut [Sampled]) {
    let others = samples.iter().filter(|one| !clocks.contains_key(one.task));
    let room = whole - others.map(|one| one.cpus).sum::<f64>();
    let share = (room / clocks.values().sum::<f64>()).clamp(0.0, 1.0);
    if share > 0.0 {
        for (task, clock) in clocks {
            give(clock * share, samples, |one| one.task == *task);
        }
    }
    give(whole, samples, |_| true);
}

/// Makes these samples stand for this time in all. What they lack is that of hidden layers.
fn give(whole: f64, samples: &mut [Sampled], is_of: impl Fn(&Sampled) -> bool) {
    let sum = |samples: &[Sampled], is: &dyn Fn(&Sampled) -> bool| -> f64 {
        let some = samples.iter().filter(|one| is_of(one) && is(one));
        some.map(|one| one.cpus).sum()
    };
    let (all, hidden) = (sum(samples, &|_| true), sum(samples, &|one| one.is_hidden));
    if all <= 0.0 {
        return;
    }
    let is_added = whole > all && hidden > 0.0;
    let factor = match is_added {
        true => 1.0 + (whole - all) / hidden,
        false => whole / all,
    };
    for one in samples
        .iter_mut()
        .filter(|one| is_of(one) && (one.is_hidden || !is_added))
    {
        one.cpus *= factor;
    }
}

/// The CPU seconds per second of an end's task by the clocks of its threads; absent where these were not
/// read.
fn clock(task: &ProfiledTask, place: &Place, run: &RunView) -> Option<f64> {
    let (role, kind) = match task {
        ProfiledTask::Sender => (Role::Sender, ThreadKind::Traffic),
        ProfiledTask::Receiver => (Role::Receiver, ThreadKind::Traffic),
        ProfiledTask::Napi(device) => (place.end_of(device)?, ThreadKind::Napi),
        _ => return None,
    };
    cpu::of_threads(run.end(role), kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(task: &ProfiledTask, cpus: f64, is_hidden: bool) -> Sampled<'_> {
        Sampled {
            task,
            cpus,
            is_hidden,
        }
    }

    #[test]
    fn time_without_samples_is_around_idle() {
        let napi = ProfiledTask::Napi("eth0".to_owned());
        let (thread, idle) = (ProfiledTask::Receiver, ProfiledTask::Idle);
        let clocks = Clocks::from([(&thread, 0.5), (&napi, 0.25)]);
        let mut samples = [
            sampled(&thread, 0.25, false),
            sampled(&thread, 0.125, true),
            sampled(&napi, 0.25, false),
            sampled(&napi, 0.25, true),
            sampled(&idle, 0.0625, true),
        ];
        divide(0.8125, &clocks, &mut samples);
        let found = samples.map(|one| one.cpus);
        assert_eq!(found, [0.25, 0.25, 0.125, 0.125, 0.0625]);
    }

    #[test]
    fn clocks_that_exceed_the_time_of_the_cpus_share_it() {
        let (sender, other) = (ProfiledTask::Sender, ProfiledTask::Agent);
        for (whole, expected) in [(0.75, [0.25, 0.5]), (0.25, [0.125, 0.125])] {
            let mut samples = [sampled(&other, 0.25, false), sampled(&sender, 0.25, false)];
            divide(whole, &Clocks::from([(&sender, 1.0)]), &mut samples);
            assert_eq!(samples.map(|one| one.cpus), expected);
        }
    }
}
