//! The load of the whole machine between two readings of `/proc/stat`, and whether another program
//! caused it.

use std::time::{Duration, Instant};

use bitcost_model::record::CpuTicks;
use bitcost_probe::cpu::CpuProbe;

/// How long the machine is observed before each run.
const LOOK: Duration = Duration::from_millis(100);

/// The busy share of all CPUs before a run from which on the run is disturbed: more than the
/// resolution of the reading (a tick of 10 ms per CPU) explains.
const BUSY: f64 = 0.15;

/// The share of the CPUs' time taken by the hypervisor from which on a run is disturbed.
const STOLEN: f64 = 0.01;

/// The load of the machine in a span of time.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// How many CPUs were busy on average: elapsed time minus idle time.
    pub busy_cpus: f64,
    /// Share of all CPUs that was busy.
    pub busy: f64,
    /// Share of all CPUs that the hypervisor took.
    pub stolen: f64,
}

impl Load {
    /// The load between two readings, with the seconds between them; absent if they could not be
    /// read.
    pub fn between(before: &[CpuTicks], after: &[CpuTicks], seconds: f64) -> Option<Load> {
        if before.is_empty() || before.len() != after.len() || seconds <= 0.0 {
            return None;
        }
        let ticks = bitcost_probe::cpu::ticks_per_second() as f64 * seconds;
        let share = |before: u64, after: u64| after.saturating_sub(before) as f64 / ticks;
        let pairs = || before.iter().zip(after);
        let idle = |(b, a): (&CpuTicks, &CpuTicks)| share(b.idle + b.iowait, a.idle + a.iowait);
        let busy_cpus = pairs()
            .map(|pair| (1.0 - idle(pair)).clamp(0.0, 1.0))
            .sum::<f64>();
        let stolen = pairs()
            .map(|(before, after)| share(before.steal, after.steal))
            .sum::<f64>();
        let cpus = before.len() as f64;
        Some(Load {
            busy_cpus,
            busy: busy_cpus / cpus,
            stolen: stolen / cpus,
        })
    }
}

/// The present disturbance of the machine, for people; absent while it is idle.
pub fn disturbance() -> Option<String> {
    let mut cpus = CpuProbe::open();
    let (before, begin) = (cpus.read(), Instant::now());
    std::thread::sleep(LOOK);
    let load = Load::between(&before, &cpus.read(), begin.elapsed().as_secs_f64())?;
    (load.busy > BUSY).then(|| {
        format!(
            "the machine was {:.0} % busy just before",
            load.busy * 100.0
        )
    })
}

/// The share that the hypervisor took during a run, for people, if it was large.
pub fn theft(stolen: f64) -> Option<String> {
    (stolen > STOLEN).then(|| format!("the hypervisor took {:.0} % of the CPUs", stolen * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_what_was_not_idle() {
        let second = bitcost_probe::cpu::ticks_per_second();
        let cpu = |idle, steal| CpuTicks {
            idle,
            steal,
            ..CpuTicks::default()
        };
        let load = Load::between(
            &[cpu(0, 0), cpu(0, 0)],
            &[cpu(second, 0), cpu(0, second / 2)],
            1.0,
        )
        .unwrap();
        assert_eq!((load.busy_cpus, load.busy, load.stolen), (1.0, 0.5, 0.25));
        assert!(Load::between(&[], &[], 1.0).is_none());
    }
}
