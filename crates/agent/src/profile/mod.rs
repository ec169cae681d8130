//! What this host's CPUs do in a run's window: stacks that a timer samples, counted by thread.

mod allowed;
mod counted;
mod folded;
mod symbols;
mod tasks;

use bitcost_model::profile::{Profile, ProfileEvent, RATE_HZ};
use bitcost_sys::clock::monotonic_ns;
use bitcost_sys::perf::{CPU_CLOCK, CPU_CYCLES, CpuSamples};

use self::counted::Counted;
use self::symbols::Symbols;
pub use self::tasks::Tasks;
use crate::refusal::Refusal;

/// Checks that a run on this host can be profiled, before any is made.
pub fn check() -> Result<(), Refusal> {
    allowed::check_namespace()?;
    Profiler::open()?;
    Symbols::read()?;
    Ok(())
}

pub struct Profiler {
    event: ProfileEvent,
    /// The CPUs by their numbers.
    cpus: Vec<(u32, CpuSamples)>,
    counted: Counted,
    lost: u64,
    began_ns: u64,
    ended_ns: u64,
}

impl Profiler {
    /// Opens the sampling of every CPU that is online: by its cycles where each of them counts them,
    /// else by the kernel's timer.
    pub fn open() -> Result<Profiler, Refusal> {
        let numbers = bitcost_probe::cores::of_this_host().online;
        let all = |trigger| -> std::io::Result<Vec<_>> {
            let open = |cpu: &u32| Ok((*cpu, CpuSamples::open(*cpu, trigger, RATE_HZ)?));
            numbers.iter().map(open).collect()
        };
        let by_cycles = all(CPU_CYCLES).map(|cpus| (ProfileEvent::Cycles, cpus));
        let opened = by_cycles.or_else(|_| Ok((ProfileEvent::CpuClock, all(CPU_CLOCK)?)));
        let (event, cpus) = opened.map_err(|error| allowed::refusal(&error))?;
        Ok(Profiler {
            event,
            cpus,
            counted: Counted::default(),
            lost: 0,
            began_ns: 0,
            ended_ns: 0,
        })
    }

    /// Starts to sample, at the start of the window.
    pub fn begin(&mut self) -> Result<(), Refusal> {
        self.began_ns = monotonic_ns();
        let begun = self.cpus.iter().try_for_each(|(_, cpu)| cpu.set(true));
        Ok(begun.map_err(|error| format!("start to sample the CPUs: {error}"))?)
    }

    /// Counts what was sampled since this was last called. Threads that were sampled are asked for their names, so they
    /// must still be there.
    pub fn count(&mut self) {
        for (cpu, samples) in &mut self.cpus {
            self.lost += samples.take(|sample| self.counted.take(*cpu, sample));
        }
    }

    pub fn end(&mut self) {
        for (_, cpu) in &self.cpus {
            // It fails for no event that could be enabled, and closing it ends it too.
            let _ = cpu.set(false);
        }
        self.ended_ns = monotonic_ns();
    }

    /// The profile, with the names of functions and the owners of threads.
    pub fn finish(self, tasks: &Tasks) -> Result<Profile, Refusal> {
        Ok(Profile {
            event: self.event,
            rate_hz: RATE_HZ,
            window_ns: self.ended_ns.saturating_sub(self.began_ns),
            cpus: self.cpus.len() as u32,
            samples: self.counted.samples,
            lost: self.lost,
            stacks: folded::folded(&self.counted, &Symbols::read()?, tasks),
        })
    }
}
