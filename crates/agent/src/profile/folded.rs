//! Counted samples as folded stacks: names instead of addresses, and owners instead of threads.

use std::cmp::Reverse;
use std::collections::HashMap;

use bitcost_model::profile::{FRAMES_MAX, ProfiledStack, ProfiledTask, STACKS_MAX, is_idle};

use super::counted::Counted;
use super::symbols::Symbols;
use super::tasks::Tasks;

const PROGRAM: &str = "[user]";

const BYTES_MAX: usize = 4 << 20;

/// The most frequent stacks, in that order.
pub fn folded(counted: &Counted, symbols: &Symbols, tasks: &Tasks) -> Vec<ProfiledStack> {
    let mut stacks: HashMap<(ProfiledTask, String, Option<u32>), u64> = HashMap::new();
    for ((cpu, sample), count) in &counted.stacks {
        let found = counted.threads.get(&sample.thread).and_then(Option::as_ref);
        let task = tasks.of(sample.process, sample.thread, found);
        let is_of_program = sample.thread != 0 && !found.is_some_and(|of| of.is_of_kernel());
        let stack = fold(&sample.kernel, is_of_program, symbols);
        let cpu = (task != ProfiledTask::Idle || !is_idle(&stack)).then_some(*cpu);
        *stacks.entry((task, stack, cpu)).or_default() += count;
    }
    let mut stacks: Vec<_> = stacks.into_iter().collect();
    stacks.sort_by(|(a, a_count), (b, b_count)| (Reverse(a_count), a).cmp(&(Reverse(b_count), b)));
    let mut bytes = 0;
    let stacks = stacks.into_iter().take(STACKS_MAX);
    let fits = stacks.take_while(|((_, stack, _), _)| {
        bytes += stack.len();
        bytes <= BYTES_MAX
    });
    let stack = |((task, stack, cpu), count)| ProfiledStack {
        task,
        stack,
        count,
        cpu,
    };
    fits.map(stack).collect()
}

/// The names of a stack, the outermost first.
fn fold(kernel: &[u64], is_of_program: bool, symbols: &Symbols) -> String {
    let program = is_of_program.then_some(PROGRAM);
    // All addresses but the innermost are those to return to, which may be the next function's.
    let names = kernel.iter().enumerate().take(FRAMES_MAX - 1);
    let names = names.map(|(depth, at)| symbols.name(at - u64::from(depth > 0)));
    let names: Vec<&str> = names.chain(program).collect();
    names.into_iter().rev().collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use bitcost_sys::perf::Sample;

    use super::*;

    /// The number of no thread.
    const ENDED: u32 = 1 << 30;

    #[test]
    fn the_cpu_of_what_is_not_idle_is_kept() {
        let mut counted = Counted::default();
        for (cpu, thread, kernel) in [
            (4, 0, 0x100),
            (5, 0, 0x100),
            (5, 0, 0x200),
            (5, ENDED, 0x100),
        ] {
            let process = thread;
            let kernel = vec![kernel];
            counted.take(
                cpu,
                Sample {
                    process,
                    thread,
                    kernel,
                },
            );
        }
        let text = "0000000000000100 T do_idle\n0000000000000200 T asm_sysvec_timer\n";
        let tasks = Tasks {
            run: None,
            lab: vec![ENDED],
            device: String::new(),
            napi: Vec::new(),
        };
        let symbols = Symbols::of(text);
        let found = folded(&counted, &symbols, &tasks).into_iter();
        let mut found: Vec<_> = found
            .map(|stack| (stack.task, stack.stack, stack.cpu, stack.count))
            .collect();
        found.sort();
        let idle = |stack: &str, cpu, count| (ProfiledTask::Idle, stack.to_owned(), cpu, count);
        let user = "[user];do_idle".to_owned();
        let expected = [
            (ProfiledTask::Wire, user, Some(5), 1),
            idle("asm_sysvec_timer", Some(5), 1),
            idle("do_idle", None, 2),
        ];
        assert_eq!(found, expected);
    }
}
