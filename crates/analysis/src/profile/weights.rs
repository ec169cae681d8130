//! The CPU time that each stack of a profile stands for.

use std::collections::BTreeMap;

use bitcost_model::counters::SoftirqTime;
use bitcost_model::profile::{Layer, Profile, ProfileEvent, ProfiledStack, ProfiledTask};
use bitcost_model::record::{EndpointRecord, Role, ThreadKind};
use bitcost_model::soft_interrupts::{spans, timed};

use super::classify::{Layers, base};
use super::owner::{HANDLES, Owner, Place, end_of_cpu};
use crate::metrics::{Edges, RunView, cpu};

/// A profile with the record that it is in, and its place.
pub(super) struct Host<'a> {
    pub profile: &'a Profile,
    pub record: &'a EndpointRecord,
    pub place: Place,
}

/// A stack of a profile with its layer and its time.
pub(super) struct Weighed<'a> {
    pub sampled: &'a ProfiledStack,
    pub layer: Option<Layer>,
    /// CPU seconds per second.
    pub cpus: f64,
    /// The same by its samples alone.
    counted: f64,
    is_softirq: bool,
    /// Whether its layer is one that was sampled too rarely, where samples are missing.
    is_hidden: bool,
}

/// The CPU seconds per second of tasks by their clocks, outside of soft interrupts.
type Clocks<'a> = BTreeMap<&'a ProfiledTask, f64>;

/// The stacks of a profile. In soft interrupts, and where a stack is no end's, the time of each CPU is divided evenly among its
/// samples.
pub(super) fn weighed<'a>(host: &Host<'a>, run: &RunView) -> Vec<Weighed<'a>> {
    let mut all = by_time(host);
    for end in Role::ALL {
        let is_own = |one: &&mut Weighed| end_of(one.sampled, &host.place, run) == Some(end);
        let own = all.iter_mut().filter(is_own);
        let (soft, mut rest): (Vec<&mut Weighed>, Vec<_>) = own.partition(|one| one.is_softirq);
        let mut clocks = Clocks::new();
        for one in &rest {
            let read = || clock(&one.sampled.task, &host.place, run).unwrap_or(0.0);
            clocks.entry(&one.sampled.task).or_insert_with(read);
        }
        for one in soft {
            if let Some(clock) = clocks.get_mut(&one.sampled.task) {
                *clock -= one.cpus;
            }
        }
        clocks.retain(|_, clock| *clock > 0.0);
        let whole = rest.iter().map(|one| one.cpus).sum();
        if host.profile.event == ProfileEvent::CpuClock {
            rest.iter_mut().for_each(|one| one.cpus = one.counted);
        }
        divide(whole, &clocks, &mut rest);
    }
    all
}

/// The stacks by their part of the time for which their CPU was busy: of soft interrupts, where these were timed and met, and
/// of everything else. Where that is not known, by their samples.
fn by_time<'a>(host: &Host<'a>) -> Vec<Weighed<'a>> {
    let (profile, record) = (host.profile, host.record);
    let kept: u64 = profile.stacks.iter().map(|stack| stack.count).sum();
    // The time of samples whose stack was not kept, or that were lost, is divided among the others.
    let taken = kept.max(1) as f64 / (profile.samples + profile.lost).max(1) as f64;
    let seconds = profile.window_ns.max(1) as f64 / 1e9 * taken.min(1.0);
    let expected = (f64::from(profile.rate_hz) * seconds).max(1.0);
    let mut known = Layers::default();
    let weighed = |sampled: &'a ProfiledStack| {
        let (layer, counted) = (known.of(&sampled.stack), sampled.count as f64 / expected);
        let is_clock = profile.event == ProfileEvent::CpuClock;
        let mut frames = sampled.stack.split(';').map(base);
        Weighed {
            sampled,
            layer,
            cpus: counted,
            counted,
            is_softirq: frames.any(|frame| HANDLES.contains(&frame)),
            // A clock's samples are not taken of what a CPU does with interrupts disabled before it idles and after.
            is_hidden: !is_clock || matches!(layer, Some(Layer::Scheduler | Layer::WakeUps)),
        }
    };
    let mut all: Vec<Weighed> = profile.stacks.iter().map(weighed).collect();
    let Some(edges) = Edges::of(&record.samples) else {
        return all;
    };
    let softirqs = spans(&edges.first.softirqs, &edges.last.softirqs);
    for span in cpu::spans_of(record.ticks_per_second, &edges) {
        let of_cpu = all.iter_mut();
        let of_cpu = of_cpu.filter(|one| one.sampled.cpu == Some(span.cpu));
        let (soft, other): (Vec<&mut Weighed>, Vec<_>) = of_cpu.partition(|one| one.is_softirq);
        let samples = |of: &[&mut Weighed]| of.iter().map(|one| one.sampled.count as f64).sum();
        let counts: [f64; 2] = [samples(&soft), samples(&other)];
        let busy = span.busy_seconds / edges.seconds;
        let is_there = |of: &SoftirqTime| of.cpu == span.cpu;
        let is_timed = softirqs.iter().any(is_there) && counts.iter().all(|count| *count > 0.0);
        let time = is_timed.then(|| timed(&softirqs, is_there)).flatten();
        let each = time.map_or([busy / (counts[0] + counts[1]); 2], |time| {
            let soft = (time.ns / 1e9 / edges.seconds).min(busy);
            [soft / counts[0], (busy - soft) / counts[1]]
        });
        for (each, of) in each.into_iter().zip([soft, other]) {
            of.into_iter()
                .for_each(|one| one.cpus = each * one.sampled.count as f64);
        }
    }
    all
}

/// The end of a stack, by its task or by the CPU that it ran on.
fn end_of(stack: &ProfiledStack, place: &Place, run: &RunView) -> Option<Role> {
    match place.of_task(&stack.task) {
        Owner::End(end) => Some(end),
        Owner::Wire => None,
        Owner::Other | Owner::Idle => end_of_cpu(stack.cpu, run),
    }
}

/// Divides the time of an end outside of soft interrupts: each task has that of its clock, the others that of
/// their samples, and what is left is around idle.
fn divide(whole: f64, clocks: &Clocks, stacks: &mut [&mut Weighed]) {
    let others = stacks.iter();
    let others = others.filter(|one| !clocks.contains_key(&one.sampled.task));
    let room = whole - others.map(|one| one.cpus).sum::<f64>();
    let share = (room / clocks.values().sum::<f64>()).clamp(0.0, 1.0);
    if share > 0.0 {
        for (task, clock) in clocks {
            give(clock * share, stacks, |one| one.sampled.task == **task);
        }
    }
    give(whole, stacks, |_| true);
}

/// Makes these stacks stand for this time in all. What they lack is that of hidden layers.
fn give(whole: f64, stacks: &mut [&mut Weighed], is_of: impl Fn(&Weighed) -> bool) {
    let mut of: Vec<_> = stacks.iter_mut().filter(|one| is_of(one)).collect();
    let all: f64 = of.iter().map(|one| one.cpus).sum();
    let hidden = of.iter().filter(|one| one.is_hidden);
    let hidden: f64 = hidden.map(|one| one.cpus).sum();
    let is_added = whole > all && hidden > 0.0;
    let factor = match is_added {
        _ if all <= 0.0 => return,
        true => 1.0 + (whole - all) / hidden,
        false => whole / all,
    };
    let changed = of.iter_mut();
    let changed = changed.filter(|one| one.is_hidden || !is_added);
    changed.for_each(|one| one.cpus *= factor);
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
    use bitcost_model::record::{CpuTicks, Sample};

    use super::*;

    #[test]
    fn the_time_of_a_cpu_is_divided_among_its_samples() {
        let soft = "do_syscall_64;__local_bh_enable_ip;do_softirq;handle_softirqs";
        let stack = |cpu, task, stack: &str, count| ProfiledStack {
            task,
            stack: stack.to_owned(),
            count,
            cpu,
        };
        let profile = Profile {
            event: ProfileEvent::Cycles,
            rate_hz: 1000,
            window_ns: 1_000_000_000,
            cpus: 2,
            samples: 13,
            lost: 0,
            stacks: vec![
                stack(Some(0), ProfiledTask::Sender, "[user]", 2),
                stack(Some(0), ProfiledTask::Sender, soft, 3),
                stack(None, ProfiledTask::Idle, "do_idle", 7),
                stack(Some(1), ProfiledTask::Receiver, "[user]", 1),
            ],
        };
        let softirq = |count| SoftirqTime {
            cpu: 0,
            count,
            timed: count,
            sum_ns: count * 2_000_000,
            ..SoftirqTime::default()
        };
        for (is_timed, times) in [(true, [0.5, 0.1]), (false, [0.24, 0.36])] {
            let sample = |at_ns, idle: [u64; 2], softirqs| {
                let ticks = |(cpu, idle)| CpuTicks {
                    cpu,
                    idle,
                    ..CpuTicks::default()
                };
                Sample {
                    at_ns,
                    cpus: (0..).zip(idle).map(ticks).collect(),
                    softirqs,
                    ..Sample::default()
                }
            };
            let softirqs = is_timed.then(|| softirq(50)).into_iter().collect();
            let record = EndpointRecord {
                ticks_per_second: 100,
                samples: vec![
                    sample(0, [0, 0], Vec::new()),
                    sample(1_000_000_000, [40, 0], softirqs),
                ],
                ..EndpointRecord::default()
            };
            let place = Place {
                only: None,
                devices: [None, None],
            };
            let host = Host {
                profile: &profile,
                record: &record,
                place,
            };
            let expected = [times[0], times[1], 0.007, 1.0];
            for (found, expected) in by_time(&host).iter().zip(expected) {
                let found = found.cpus;
                assert!((found - expected).abs() < 1e-9, "{found} {expected}");
            }
        }
    }

    fn sampled(task: &ProfiledTask) -> ProfiledStack {
        ProfiledStack {
            task: task.clone(),
            stack: String::new(),
            count: 1,
            cpu: None,
        }
    }

    /// What each stack, of which the time by samples and whether it is hidden are given, stands for when it is divided.
    fn divided<const N: usize>(
        whole: f64,
        clocks: &Clocks,
        stacks: [(&ProfiledTask, f64, bool); N],
    ) -> [f64; N] {
        let sampled = stacks.map(|(task, ..)| sampled(task));
        let mut all = sampled.each_ref().map(|sampled| Weighed {
            sampled,
            layer: None,
            cpus: 0.0,
            counted: 0.0,
            is_softirq: false,
            is_hidden: false,
        });
        for (one, (_, cpus, is_hidden)) in all.iter_mut().zip(stacks) {
            (one.cpus, one.is_hidden) = (cpus, is_hidden);
        }
        divide(whole, clocks, &mut all.each_mut());
        all.map(|one| one.cpus)
    }

    #[test]
    fn time_without_samples_is_around_idle() {
        let napi = ProfiledTask::Napi("eth0".to_owned());
        let (thread, idle) = (ProfiledTask::Receiver, ProfiledTask::Idle);
        let stacks = [
            (&thread, 0.25, false),
            (&thread, 0.125, true),
            (&napi, 0.25, false),
            (&napi, 0.25, true),
            (&idle, 0.0625, true),
        ];
        let found = divided(
            0.8125,
            &Clocks::from([(&thread, 0.5), (&napi, 0.25)]),
            stacks,
        );
        assert_eq!(found, [0.25, 0.25, 0.125, 0.125, 0.0625]);
    }

    #[test]
    fn clocks_that_exceed_the_time_of_the_cpus_share_it() {
        let (sender, other) = (ProfiledTask::Sender, ProfiledTask::Agent);
        for (whole, expected) in [(0.75, [0.25, 0.5]), (0.25, [0.125, 0.125])] {
            let stacks = [(&other, 0.25, false), (&sender, 0.25, false)];
            let found = divided(whole, &Clocks::from([(&sender, 1.0)]), stacks);
            assert_eq!(found, expected);
        }
    }
}
