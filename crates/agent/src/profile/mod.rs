//! What this host's CPUs do in a run's window: stacks that a timer samples, counted by thread.

mod allowed;
mod counted;
mod folded;
mod symbols;
mod tasks;
mod times;

use bitcost_model::cpu_list::parse_cpu_list;
use bitcost_model::profile::{Profile, ProfileEvent, RATE_HZ};
use bitcost_model::record::Sample;
use bitcost_sys::clock::monotonic_ns;
use bitcost_sys::perf::{CpuSamples, Trigger};

use self::counted::Counted;
use self::symbols::Symbols;
pub use self::tasks::{Tasks, thread_name};
use self::times::CpuTime;
use crate::refusal::Refusal;

/// Checks that a run on this host can be profiled, before any is made.
///
/// # Errors
/// What this host lacks, with the value of the setting and what allows it.
pub fn check() -> Result<(), Refusal> {
    allowed::check_namespace()?;
    Profiler::open()?;
    Symbols::read()?;
    Ok(())
}

pub struct Profiler {
    event: ProfileEvent,
    cpus: Vec<CpuSamples>,
    numbers: Vec<u32>,
    counted: Counted,
    began_ns: u64,
    ended_ns: u64,
}

impl Profiler {
    /// Opens the sampling of every CPU that is online: by its cycles where each of them counts them,
    /// else by the kernel's timer.
    ///
    /// # Errors
    /// Why this host cannot be sampled, who may, and what allows it.
    pub fn open() -> Result<Profiler, Refusal> {
        allowed::check_rate()?;
        let frames = allowed::most_frames();
        let numbers = online()?;
        let all = |trigger| -> std::io::Result<Vec<CpuSamples>> {
            let open = |cpu: &u32| CpuSamples::open(*cpu, trigger, RATE_HZ, frames);
            numbers.iter().map(open).collect()
        };
        let (event, cpus) = match all(Trigger::Cycles) {
            Ok(cpus) => (ProfileEvent::Cycles, cpus),
            Err(_) => {
                let cpus = all(Trigger::CpuClock).map_err(|error| allowed::refusal(&error))?;
                (ProfileEvent::CpuClock, cpus)
            }
        };
        Ok(Profiler {
            event,
            counted: Counted::new(cpus.len()),
            cpus,
            numbers,
            began_ns: 0,
            ended_ns: 0,
        })
    }

    /// Starts to sample, at the start of the window.
    pub fn begin(&mut self) -> Result<(), Refusal> {
        self.began_ns = monotonic_ns();
        let begun = self.cpus.iter().try_for_each(CpuSamples::enable);
        Ok(begun.map_err(|error| format!("start to sample the CPUs: {error}"))?)
    }

    /// Counts what was sampled on CPUs whose buffers need the room. What is read in the window takes time
    /// from the traffic.
    pub fn make_room(&mut self) {
        self.count(CpuSamples::is_filling);
    }

    fn count(&mut self, which: impl Fn(&CpuSamples) -> bool) {
        for (cpu, samples) in self.cpus.iter_mut().enumerate() {
            if which(samples) {
                let records = samples.take();
                records.for_each(|record| self.counted.take(cpu, record));
            }
        }
    }

    pub fn end(&mut self) {
        for cpu in &self.cpus {
            // It fails for no event that could be enabled, and closing it ends it too.
            let _ = cpu.disable();
        }
        self.ended_ns = monotonic_ns();
    }

    /// Counts what waits in the buffers since the end of the window, while the threads that were sampled can
    /// still be asked for their names.
    pub fn count_rest(&mut self) {
        self.count(|_| true);
    }

    /// The profile, with the names of functions, the owners of threads, and the time of the CPUs between
    /// the first and the last of these samples.
    pub fn finish(self, tasks: &Tasks, samples: &[Sample]) -> Result<Profile, Refusal> {
        let symbols = Symbols::read()?;
        let times = CpuTime::of(&self.numbers, samples);
        let counted = &self.counted;
        let lost = counted.lost(RATE_HZ, self.ended_ns);
        let stacks = folded::folded(counted, &self.numbers, times.as_deref(), &symbols, tasks);
        Ok(Profile {
            event: self.event,
            rate_hz: RATE_HZ,
            window_ns: self.ended_ns.saturating_sub(self.began_ns),
            cpus: self.cpus.len() as u32,
            samples: counted.samples,
            lost,
            stacks,
        })
    }
}

fn online() -> Result<Vec<u32>, Refusal> {
    let path = "/sys/devices/system/cpu/online";
    let read = std::fs::read_to_string(path).map_err(|error| error.to_string());
    let cpus = read.and_then(|text| parse_cpu_list(&text).ok_or("no list of CPUs".to_owned()));
    cpus.map_err(|error| allowed::lacks(format!("{path}: {error}")))
}
