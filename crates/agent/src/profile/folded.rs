//! Counted samples as folded stacks: names instead of addresses, and owners instead of threads.

use std::cmp::Reverse;
use std::collections::HashMap;

use bitcost_model::profile::{ProfiledStack, ProfiledTask, STACKS_MAX, is_idle, is_softirq};

use super::counted::{Counted, Stack};
use super::symbols::Symbols;
use super::tasks::Tasks;
use super::times::CpuTime;

/// All frames of a program.
const PROGRAM: &str = "[user]";

struct Sampled {
    cpu: usize,
    task: ProfiledTask,
    stack: String,
    count: u64,
    /// The CPU time that it stands for, where that is known.
    ns: Option<f64>,
}

impl Sampled {
    fn is_busy(&self) -> bool {
        self.task != ProfiledTask::Idle || !is_idle(&self.stack)
    }

    /// Its CPU, where the log keeps it: on whose CPU other work than an end's ran.
    fn kept_cpu(&self, numbers: &[u32]) -> Option<u32> {
        use ProfiledTask::{Agent, Idle, Other, Softirq};
        let is_of_others = matches!(self.task, Agent | Idle | Other(_) | Softirq);
        (is_of_others && self.is_busy()).then(|| numbers[self.cpu])
    }
}

const BYTES_MAX: usize = 4 << 20;

/// The most frequent stacks, in that order. The times are those of the CPUs with these numbers, where
/// they are known of all.
pub fn folded(
    counted: &Counted,
    numbers: &[u32],
    times: Option<&[CpuTime]>,
    symbols: &Symbols,
    tasks: &Tasks,
) -> Vec<ProfiledStack> {
    let mut sampled: Vec<Sampled> = counted
        .stacks
        .iter()
        .map(|(stack, count)| {
            let named = counted.threads.get(&stack.thread);
            let is_of_program = stack.thread != 0 && named.is_none_or(|named| !named.is_of_kernel);
            Sampled {
                cpu: stack.cpu,
                task: tasks.of(stack.process, stack.thread, named),
                stack: fold(stack, is_of_program, symbols),
                count: *count,
                ns: None,
            }
        })
        .collect();
    if let Some(times) = times {
        weigh(&mut sampled, times);
    }
    /// Whose samples they are, on which CPU, and with which stack.
    type Key = (ProfiledTask, Option<u32>, String);
    let mut stacks: HashMap<Key, (u64, Option<f64>)> = HashMap::new();
    for one in sampled {
        let cpu = one.kept_cpu(numbers);
        let (samples, ns) = stacks.entry((one.task, cpu, one.stack)).or_default();
        *samples += one.count;
        *ns = one.ns.map(|more| ns.unwrap_or(0.0) + more);
    }
    let stacks = stacks.into_iter();
    let mut stacks: Vec<ProfiledStack> = stacks
        .map(|((task, cpu, stack), (count, ns))| ProfiledStack {
            time_ns: ns.map(|ns| ns as u64),
            cpu,
            task,
            stack,
            count,
        })
        .collect();
    stacks.sort_by(|a, b| {
        let key = |stack: &ProfiledStack| Reverse(stack.count);
        key(a)
            .cmp(&key(b))
            .then_with(|| (&a.task, &a.stack, a.cpu).cmp(&(&b.task, &b.stack, b.cpu)))
    });
    let mut bytes = 0;
    let fits = |stack: &&ProfiledStack| {
        bytes += stack.stack.len();
        bytes <= BYTES_MAX
    };
    let kept = stacks.iter().take(STACKS_MAX).take_while(fits).count();
    stacks.truncate(kept);
    stacks
}

/// Gives each stack its part of the time of its CPU: of soft interrupts, where these were timed and met,
/// and of everything else that is not idle.
fn weigh(sampled: &mut [Sampled], times: &[CpuTime]) {
    let mut counts: HashMap<(usize, bool), u64> = HashMap::new();
    for one in sampled.iter().filter(|one| one.is_busy()) {
        *counts.entry((one.cpu, is_softirq(&one.stack))).or_default() += one.count;
    }
    let count = |cpu, is_softirq| counts.get(&(cpu, is_softirq)).copied().unwrap_or(0);
    for one in sampled.iter_mut().filter(|one| one.is_busy()) {
        let CpuTime {
            busy_ns,
            softirq_ns,
        } = times[one.cpu];
        let (soft, other) = (count(one.cpu, true), count(one.cpu, false));
        let (ns, samples) = match softirq_ns {
            Some(softirq_ns) if soft > 0 && other > 0 => match is_softirq(&one.stack) {
                true => (softirq_ns, soft),
                false => (busy_ns - softirq_ns, other),
            },
            _ => (busy_ns, soft + other),
        };
        one.ns = Some(ns * one.count as f64 / samples as f64);
    }
}

/// The names of a stack, the outermost first.
fn fold(stack: &Stack, is_of_program: bool, symbols: &Symbols) -> String {
    let program = is_of_program.then_some(PROGRAM);
    let kernel = stack.kernel.iter().enumerate().rev();
    // All addresses but the innermost are those to return to, which may be the next function's.
    let kernel = kernel.map(|(depth, at)| symbols.name(at - u64::from(depth > 0)));
    program
        .into_iter()
        .chain(kernel)
        .collect::<Vec<_>>()
        .join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(cpu: usize, task: ProfiledTask, stack: &str, count: u64) -> Sampled {
        Sampled {
            cpu,
            task,
            stack: stack.to_owned(),
            count,
            ns: None,
        }
    }

    #[test]
    fn the_cpu_of_other_work_is_kept() {
        let interrupt = "do_idle;asm_sysvec_apic_timer_interrupt";
        for (task, stack, kept) in [
            (ProfiledTask::Sender, "[user]", None),
            (ProfiledTask::Napi("eth0".to_owned()), "kthread", None),
            (ProfiledTask::Agent, "[user]", Some(5)),
            (ProfiledTask::Other("cron".to_owned()), "[user]", Some(5)),
            (ProfiledTask::Idle, "do_idle", None),
            (ProfiledTask::Idle, interrupt, Some(5)),
        ] {
            assert_eq!(sampled(1, task, stack, 1).kept_cpu(&[4, 5]), kept);
        }
    }

    #[test]
    fn the_time_of_a_cpu_is_divided_among_its_samples() {
        let soft = "do_syscall_64;__local_bh_enable_ip;do_softirq;handle_softirqs";
        let busy_ns = 1000.0;
        for (softirq_ns, times) in [
            (Some(200.0), [Some(800.0), Some(200.0), None, Some(1000.0)]),
            (None, [Some(400.0), Some(600.0), None, Some(1000.0)]),
        ] {
            let mut stacks = [
                sampled(0, ProfiledTask::Sender, "[user]", 2),
                sampled(0, ProfiledTask::Sender, soft, 3),
                sampled(0, ProfiledTask::Idle, "do_idle", 7),
                sampled(1, ProfiledTask::Receiver, "[user]", 1),
            ];
            let time = CpuTime {
                busy_ns,
                softirq_ns,
            };
            weigh(&mut stacks, &[time, time]);
            assert_eq!(stacks.map(|one| one.ns), times);
        }
    }
}
