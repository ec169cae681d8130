//! CPU stress: threads of this process that keep CPUs busy during the traffic, and end with it.
//!
//! A worker runs until its CPU time is its share of the elapsed time, then sleeps until the next
//! period. CPU time that it could not get is made up for within one period only.

use std::hint::black_box;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bitcost_model::cpu_list::show_cpu_list;
use bitcost_model::host_settings::{Flavour, Stress};
use bitcost_sys::clock::thread_cpu_ns;
use bitcost_sys::thread::{allowed_cpus, pin_to};

use crate::HostError;

/// Running workers. Dropping it ends them.
#[derive(Debug)]
pub struct Stressed {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Worked>>,
    /// The CPU of each worker, as read back.
    pub cpus: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worked {
    /// Its CPU time, in ns.
    pub cpu_ns: u64,
    /// The time that passed, in ns.
    pub elapsed_ns: u64,
}

/// Memory that a worker of [`Flavour::Memory`] writes to, in bytes.
pub const MEMORY_BYTES: usize = 64 << 20;
/// A worker ends after this time in any case; a run takes a week at most.
const LIMIT: Duration = Duration::from_secs(8 * 24 * 3600);
const PERIOD: Duration = Duration::from_millis(10);
const CACHE_LINE: usize = 64;
/// Cache lines, or rounds of arithmetic, between two readings of the clock.
const STEP: usize = 4096;

/// Starts the workers, each pinned to its CPU.
///
/// # Errors
/// When a CPU does not exist or is not allowed, or a thread cannot be started. No worker runs
/// then.
pub fn keep_busy(stress: &Stress) -> Result<Stressed, HostError> {
    let asked = || format!("keep CPUs busy with {} workers", stress.workers);
    let failed = |why: &dyn std::fmt::Display| HostError::cannot(asked(), why);
    let allowed = allowed_cpus().map_err(|error| failed(&error))?;
    if let Some(cpu) = stress.cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        return Err(failed(&format!(
            "CPU {cpu} does not exist or is not allowed; allowed: {}",
            show_cpu_list(&allowed)
        )));
    }
    let cpus = if stress.cpus.is_empty() {
        &allowed
    } else {
        &stress.cpus
    };
    let mut stressed = Stressed {
        stop: Arc::default(),
        threads: Vec::new(),
        cpus: Vec::new(),
    };
    for cpu in cpus.iter().cycle().take(stress.workers as usize) {
        let (spec, cpu, stop) = (stress.clone(), *cpu, stressed.stop.clone());
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("bitcost-stress".to_owned())
            .spawn(move || {
                let pinned = pin_to(&[cpu]);
                // The caller waits for this.
                let _ = sender.send(pinned.map(|cpus| cpus == [cpu]));
                drop(sender);
                work(&spec, &stop)
            });
        stressed
            .threads
            .push(thread.map_err(|error| failed(&error))?);
        match receiver.recv() {
            Ok(Ok(true)) => stressed.cpus.push(cpu),
            Ok(Err(error)) => return Err(failed(&format!("CPU {cpu}: {error}"))),
            _ => {
                return Err(failed(&format!(
                    "CPU {cpu}: the kernel moved the worker to another CPU"
                )));
            }
        }
    }
    Ok(stressed)
}

impl Stressed {
    /// Ends the workers and returns the work that each did.
    pub fn finish(mut self) -> Vec<Worked> {
        self.end()
    }

    fn end(&mut self) -> Vec<Worked> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads
            .drain(..)
            .filter_map(|thread| thread.join().ok())
            .collect()
    }
}

impl Drop for Stressed {
    fn drop(&mut self) {
        self.end();
    }
}

fn work(spec: &Stress, stop: &AtomicBool) -> Worked {
    let (began, cpu_before) = (Instant::now(), thread_cpu_ns());
    let mut step = step_of(spec.flavour);
    let mut forgiven_ns = 0;
    while !stop.load(Ordering::Relaxed) && began.elapsed() < LIMIT {
        let passed_ns = (began.elapsed() + PERIOD).as_nanos() as u64;
        let due_ns = (passed_ns * u64::from(spec.load_percent) / 100).saturating_sub(forgiven_ns);
        let done_ns = thread_cpu_ns() - cpu_before;
        if done_ns < due_ns {
            let period_ns = PERIOD.as_nanos() as u64;
            forgiven_ns += (due_ns - done_ns).saturating_sub(2 * period_ns);
            step();
        } else {
            std::thread::sleep(PERIOD / 10);
        }
    }
    Worked {
        cpu_ns: thread_cpu_ns() - cpu_before,
        elapsed_ns: began.elapsed().as_nanos() as u64,
    }
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
                    // On a host without that file each step still calls the clock.
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
    fn workers_are_pinned_run_and_end() {
        let cpu = allowed_cpus().expect("allowed")[0];
        for flavour in Flavour::ALL {
            let stress = Stress {
                workers: 2,
                flavour,
                load_percent: 10,
                cpus: vec![cpu],
            };
            let stressed = keep_busy(&stress).expect("started");
            assert_eq!(stressed.cpus, [cpu, cpu]);
            std::thread::sleep(Duration::from_millis(100));
            let worked = stressed.finish();
            assert_eq!(worked.len(), 2);
            // A worker uses at most a little more than requested: one period, and one step.
            let most = |worked: &Worked| worked.elapsed_ns / 10 + 30_000_000;
            assert!(
                worked
                    .iter()
                    .all(|worked| worked.cpu_ns > 0 && worked.cpu_ns < most(worked)),
                "{worked:?}"
            );
        }
    }
}
