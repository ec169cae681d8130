//! Samples counted by thread and stack while the window is open, with bounds on their memory.

use std::collections::HashMap;

use bitcost_probe::foreign;
use bitcost_sys::perf::Record;

/// Most different stacks that are kept until the window is over, and the memory of their addresses.
const STACKS_MAX: usize = 1 << 16;
const ADDRESSES_MAX: usize = 4 << 20;

const THREADS_MAX: usize = 1 << 13;

/// A thread at one place, on one of the CPUs that are sampled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stack {
    pub cpu: usize,
    pub process: u32,
    pub thread: u32,
    /// The addresses of the kernel's functions, the innermost first.
    pub kernel: Box<[u64]>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    pub name: String,
    pub is_of_kernel: bool,
}

#[derive(Debug, Default)]
pub struct Counted {
    pub stacks: HashMap<Stack, u64>,
    pub threads: HashMap<u32, Named>,
    pub samples: u64,
    lost: u64,
    addresses: usize,
    /// Since when each CPU was not sampled because it took too long, in ns.
    throttled: Vec<Option<u64>>,
    /// For how long all of them together were not, in ns.
    throttled_ns: u64,
}

impl Counted {
    pub fn new(cpus: usize) -> Counted {
        Counted {
            throttled: vec![None; cpus],
            ..Counted::default()
        }
    }

    pub fn take(&mut self, cpu: usize, record: Record) {
        match record {
            Record::Sample {
                process,
                thread,
                kernel,
            } => self.count(Stack {
                cpu,
                process,
                thread,
                kernel: kernel.into(),
            }),
            Record::Lost(lost) => self.lost = self.lost.saturating_add(lost),
            Record::Throttled(at_ns) => self.throttled[cpu] = Some(at_ns),
            Record::Unthrottled(at_ns) => {
                let since = self.throttled[cpu].take();
                self.throttled_ns += at_ns.saturating_sub(since.unwrap_or(at_ns));
            }
            Record::Garbled => self.lost += 1,
        }
    }

    fn count(&mut self, stack: Stack) {
        self.samples += 1;
        if let Some(count) = self.stacks.get_mut(&stack) {
            *count += 1;
            return;
        }
        self.addresses += stack.kernel.len();
        if self.stacks.len() >= STACKS_MAX || self.addresses > ADDRESSES_MAX {
            return;
        }
        if self.threads.len() < THREADS_MAX {
            let thread = stack.thread;
            self.threads.entry(thread).or_insert_with(|| named(thread));
        }
        self.stacks.insert(stack, 1);
    }

    /// Samples that were not taken, also for the time in which there were none.
    pub fn lost(&self, rate_hz: u32, now_ns: u64) -> u64 {
        let open = self.throttled.iter().flatten();
        let open: u64 = open.map(|since| now_ns.saturating_sub(*since)).sum();
        let ns = u128::from(self.throttled_ns + open);
        let unsampled = ns * u128::from(rate_hz) / 1_000_000_000;
        self.lost.saturating_add(unsampled as u64)
    }
}

fn named(thread: u32) -> Named {
    let text = std::fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    let ended = || Named {
        name: "[ended]".to_owned(),
        is_of_kernel: false,
    };
    foreign::parse(&text).map_or_else(ended, |found| Named {
        name: found.name().to_owned(),
        is_of_kernel: found.is_of_kernel(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(thread: u32, kernel: &[u64]) -> Record {
        Record::Sample {
            process: thread,
            thread,
            kernel: kernel.to_vec(),
        }
    }

    #[test]
    fn samples_of_one_stack_are_one_entry() {
        let mut counted = Counted::new(1);
        for record in [
            sample(1, &[7]),
            sample(1, &[7]),
            sample(2, &[7, 8]),
            Record::Lost(3),
        ] {
            counted.take(0, record);
        }
        let mut counts: Vec<u64> = counted.stacks.values().copied().collect();
        counts.sort_unstable();
        assert_eq!((counts, counted.samples), (vec![1, 2], 3));
        assert_eq!(counted.lost(1000, 0), 3);
    }

    #[test]
    fn time_without_samples_counts_as_lost() {
        let mut counted = Counted::new(2);
        let second = 1_000_000_000;
        counted.take(0, Record::Throttled(second));
        counted.take(0, Record::Unthrottled(2 * second));
        counted.take(1, Record::Throttled(3 * second));
        counted.take(1, Record::Garbled);
        assert_eq!(counted.lost(997, 5 * second), 3 * 997 + 1);
    }

    #[test]
    fn stacks_that_find_no_room_are_counted() {
        let mut counted = Counted::new(1);
        let kernel = |number: usize| vec![number as u64; 100];
        let made = ADDRESSES_MAX / 100 + 10;
        (0..made).for_each(|number| counted.take(0, sample(1, &kernel(number))));
        assert_eq!(counted.samples, made as u64);
        assert!(counted.stacks.len() < made);
    }
}
