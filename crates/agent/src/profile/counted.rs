//! Samples counted by CPU, thread and stack while the window is open, with a bound on their memory.

use std::collections::HashMap;

use bitcost_probe::foreign::{self, Process};
use bitcost_sys::perf::Sample;

/// Most numbers in the stacks that are kept until the window is over.
const NUMBERS_MAX: usize = 4 << 20;

/// The numbers of a stack in addition to its addresses.
const NUMBERS_EACH: usize = 8;

#[derive(Debug, Default)]
pub struct Counted {
    pub stacks: HashMap<(u32, Sample), u64>,
    /// What was found of each thread when it was first met; absent where it had ended.
    pub threads: HashMap<u32, Option<Process>>,
    pub samples: u64,
    numbers: usize,
}

impl Counted {
    pub fn take(&mut self, cpu: u32, sample: Sample) {
        self.samples += 1;
        let (thread, addresses) = (sample.thread, sample.kernel.len());
        let key = (cpu, sample);
        if let Some(count) = self.stacks.get_mut(&key) {
            *count += 1;
            return;
        }
        self.numbers += addresses + NUMBERS_EACH;
        if self.numbers <= NUMBERS_MAX {
            self.threads.entry(thread).or_insert_with(|| found(thread));
            self.stacks.insert(key, 1);
        }
    }
}

fn found(thread: u32) -> Option<Process> {
    let stat = std::fs::read(format!("/proc/{thread}/stat")).ok()?;
    foreign::parse(&String::from_utf8_lossy(&stat))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(thread: u32, kernel: &[u64]) -> Sample {
        Sample {
            process: thread,
            thread,
            kernel: kernel.to_vec(),
        }
    }

    #[test]
    fn samples_of_one_stack_are_one_entry() {
        let mut counted = Counted::default();
        for sample in [sample(1, &[7]), sample(1, &[7]), sample(2, &[7, 8])] {
            counted.take(0, sample);
        }
        let mut counts: Vec<u64> = counted.stacks.values().copied().collect();
        counts.sort_unstable();
        assert_eq!((counts, counted.samples), (vec![1, 2], 3));
    }

    #[test]
    fn stacks_that_find_no_room_are_counted() {
        let mut counted = Counted::default();
        let kernel = |number: usize| vec![number as u64; 100];
        let made = NUMBERS_MAX / 100 + 10;
        (0..made).for_each(|number| counted.take(0, sample(1, &kernel(number))));
        assert_eq!(counted.samples, made as u64);
        assert!(counted.stacks.len() < made);
    }
}
