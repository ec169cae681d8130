//! CPU stress: threads of this process that keep CPUs busy beside the traffic, and end with it.
//!
//! A worker works until its own CPU time is its share of the time that has passed, then sleeps until the
//! next period. What it could not get is not made up for, beyond one period.

use std::hint::black_box;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sys::thread::{allowed_cpus, cpu_time_ns, pin_to, thread_id};

use crate::HostError;

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// Arithmetic in registers.
    Cpu,
    /// Writing through `MEMORY_BYTES` of memory, a cache line at a time.
    Memory,
    /// System calls: reads of 4 KiB from `/dev/zero`.
    Syscall,
}

impl Flavour {
    /// Every flavour by name.
    pub const NAMES: [(&'static str, Flavour); 3] =
        [("cpu", Flavour::Cpu), ("memory", Flavour::Memory), ("syscall", Flavour::Syscall)];
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stress {
    /// How many threads.
    pub workers: u32,
    /// What each does.
    pub flavour: Flavour,
    /// How much of a CPU's time each takes, in per cent.
    pub load_percent: u32,
    /// The CPUs, one for each worker in turn; empty: every allowed one.
    pub cpus: Vec<u32>,
}

/// Workers that run. Dropping it ends them.
#[derive(Debug)]
pub struct Stressed {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Worked>>,
    /// The CPU of each worker, as read back.
    pub cpus: Vec<u32>,
}

/// What one worker did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worked {
    /// Its CPU time, in ns.
    pub cpu_ns: u64,
    /// The time that passed, in ns.
    pub elapsed_ns: u64,
}

/// Memory that a worker of that flavour writes through, in bytes.
pub const MEMORY_BYTES: usize = 64 << 20;
/// A worker ends after this long, whoever forgot it.
const LIMIT: Duration = Duration::from_secs(2 * 3600);
const PERIOD: Duration = Duration::from_millis(10);
const CACHE_LINE: usize = 64;
/// Cache lines, or rounds of arithmetic, between two looks at the clock.
const STEP: usize = 4096;

impl Stress {
    /// Starts the workers, each pinned to its CPU.
    ///
    /// # Errors
    /// When a CPU does not exist or is not allowed, or a thread cannot be started; none is left then.
    pub fn start(&self) -> Result<Stressed, HostError> {
        let asked = || format!("keep CPUs busy with {} workers", self.workers);
        let failed = |why: &dyn std::fmt::Display| HostError::cannot(asked(), why);
        let allowed = allowed_cpus().map_err(|error| failed(&error))?;
        if let Some(cpu) = self.cpus.iter().find(|cpu| !allowed.contains(cpu)) {
            return Err(failed(&format!("CPU {cpu} is not there or not allowed; allowed: {allowed:?}")));
        }
        let cpus = if self.cpus.is_empty() { &allowed } else { &self.cpus };
        let mut stressed = Stressed { stop: Arc::default(), threads: Vec::new(), cpus: Vec::new() };
        for cpu in cpus.iter().cycle().take(self.workers as usize) {
            let (spec, cpu, stop) = (self.clone(), *cpu, stressed.stop.clone());
            let (tell, told) = std::sync::mpsc::channel();
            let thread = std::thread::Builder::new().name("bitcost-stress".to_owned()).spawn(move || {
                let pinned = pin_to(&[cpu]);
                // The starter waits for this word.
                let _ = tell.send(pinned.map(|cpus| cpus == [cpu]));
                drop(tell);
                work(&spec, &stop)
            });
            stressed.threads.push(thread.map_err(|error| failed(&error))?);
            match told.recv() {
                Ok(Ok(true)) => stressed.cpus.push(cpu),
                Ok(Err(error)) => return Err(failed(&format!("CPU {cpu}: {error}"))),
                _ => return Err(failed(&format!("CPU {cpu}: the kernel put the worker elsewhere"))),
            }
        }
        Ok(stressed)
    }
}

impl Stressed {
    /// Ends the workers and tells what each did.
    pub fn finish(mut self) -> Vec<Worked> {
        self.end()
    }

    fn end(&mut self) -> Vec<Worked> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).filter_map(|thread| thread.join().ok()).collect()
    }
}

impl Drop for Stressed {
    fn drop(&mut self) {
        self.end();
    }
}

fn work(spec: &Stress, stop: &AtomicBool) -> Worked {
    let thread = thread_id();
    let cpu_ns = || cpu_time_ns(thread).unwrap_or(0);
    let (began, cpu_before) = (Instant::now(), cpu_ns());
    let mut step = step_of(spec.flavour);
    let mut forgiven_ns = 0;
    while !stop.load(Ordering::Relaxed) && began.elapsed() < LIMIT {
        let passed_ns = (began.elapsed() + PERIOD).as_nanos() as u64;
        let due_ns = (passed_ns * u64::from(spec.load_percent) / 100).saturating_sub(forgiven_ns);
        let done_ns = cpu_ns() - cpu_before;
        if done_ns < due_ns {
            let period_ns = PERIOD.as_nanos() as u64;
            forgiven_ns += (due_ns - done_ns).saturating_sub(2 * period_ns);
            step();
        } else {
            std::thread::sleep(PERIOD / 10);
        }
    }
    Worked { cpu_ns: cpu_ns() - cpu_before, elapsed_ns: began.elapsed().as_nanos() as u64 }
}

/// A short piece of work, some microseconds long.
fn step_of(flavour: Flavour) -> Box<dyn FnMut()> {
    match flavour {
        Flavour::Cpu => {
            let mut sum = 1u64;
            Box::new(move || {
                for _ in 0..STEP {
                    sum = black_box(sum.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
                }
            })
        }
        Flavour::Memory => {
            let mut memory = vec![0u8; MEMORY_BYTES];
            let mut at = 0;
            Box::new(move || {
                for _ in 0..STEP {
                    memory[at] = memory[at].wrapping_add(1);
                    at = (at + CACHE_LINE) % MEMORY_BYTES;
                }
                black_box(&memory);
            })
        }
        Flavour::Syscall => {
            let mut zero = std::fs::File::open("/dev/zero").ok();
            let mut page = vec![0u8; 4096];
            Box::new(move || {
                for _ in 0..16 {
                    // A host without that file still makes the call of the clock, each step.
                    let _ = zero.as_mut().map(|zero| zero.read(&mut page));
                }
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_pinned_work_and_end() {
        let cpu = allowed_cpus().expect("allowed")[0];
        for (_, flavour) in Flavour::NAMES {
            let stress = Stress { workers: 2, flavour, load_percent: 10, cpus: vec![cpu] };
            let stressed = stress.start().expect("started");
            assert_eq!(stressed.cpus, [cpu, cpu]);
            std::thread::sleep(Duration::from_millis(100));
            let worked = stressed.finish();
            assert_eq!(worked.len(), 2);
            // Never more than asked by much: a period, and a step.
            let most = |worked: &Worked| worked.elapsed_ns / 10 + 30_000_000;
            assert!(worked.iter().all(|worked| worked.cpu_ns > 0 && worked.cpu_ns < most(worked)), "{worked:?}");
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        let stress = Stress { workers: 1, flavour: Flavour::Cpu, load_percent: 10, cpus: vec![4095] };
        let said = stress.start().expect_err("refused").to_string();
        assert!(said.contains("CPU 4095 is not there or not allowed"), "{said}");
    }
}
