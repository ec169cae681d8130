//! Counted samples as folded stacks: names instead of addresses, and owners instead of threads.

use std::cmp::Reverse;
use std::collections::HashMap;

use bitcost_model::profile::{ProfiledStack, ProfiledTask, STACKS_MAX};

use super::counted::{Counted, Stack};
use super::symbols::Symbols;
use super::tasks::Tasks;

/// All frames of a program.
const PROGRAM: &str = "[user]";

/// Most bytes of all stacks of a profile.
const BYTES_MAX: usize = 4 << 20;

/// The stacks, the most frequent first, and the number of samples whose stack is not among them. `busy_ns`
/// is for how long each CPU was busy, where it is known of all.
pub fn folded(
    counted: &Counted,
    busy_ns: Option<&[u64]>,
    symbols: &Symbols,
    tasks: &Tasks,
) -> (Vec<ProfiledStack>, u64) {
    let mut stacks: HashMap<(ProfiledTask, String), (u64, f64)> = HashMap::new();
    for (stack, count) in &counted.stacks {
        let named = counted.threads.get(&stack.thread);
        let task = tasks.of(stack.process, stack.thread, named);
        let is_of_program = stack.thread != 0 && named.is_none_or(|named| !named.is_of_kernel);
        let sum = stacks.entry((task, fold(stack, is_of_program, symbols)));
        let (samples, ns) = sum.or_default();
        let all = counted.busy[stack.cpu].max(1) as f64;
        *samples += count;
        *ns += busy_ns.map_or(0.0, |busy| busy[stack.cpu] as f64) * *count as f64 / all;
    }
    let stacks = stacks.into_iter();
    let mut stacks: Vec<ProfiledStack> = stacks
        .map(|((task, stack), (count, ns))| ProfiledStack {
            time_ns: (busy_ns.is_some() && task != ProfiledTask::Idle).then_some(ns as u64),
            task,
            stack,
            count,
        })
        .collect();
    stacks.sort_by(|a, b| {
        let key = |stack: &ProfiledStack| Reverse(stack.count);
        key(a)
            .cmp(&key(b))
            .then_with(|| (&a.task, &a.stack).cmp(&(&b.task, &b.stack)))
    });
    let mut bytes = 0;
    let fits = |stack: &&ProfiledStack| {
        bytes += stack.stack.len();
        bytes <= BYTES_MAX
    };
    let kept = stacks.iter().take(STACKS_MAX).take_while(fits).count();
    let left_out = stacks.drain(kept..).map(|stack| stack.count).sum();
    (stacks, left_out)
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
