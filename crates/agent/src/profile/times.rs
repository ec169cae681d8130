//! For how long each CPU was busy in the window, and with soft interrupts.

use bitcost_model::record::Sample;
use bitcost_model::soft_interrupts::{spans, timed};
use bitcost_probe::cpu::ticks_per_second;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuTime {
    /// Wall clock less idle, in ns.
    pub busy_ns: f64,
    /// The part of it that soft interrupts took, in ns; absent where it was not timed.
    pub softirq_ns: Option<f64>,
}

impl CpuTime {
    /// The times of these CPUs between the first and the last sample; absent where a CPU has none.
    pub fn of(cpus: &[u32], samples: &[Sample]) -> Option<Vec<CpuTime>> {
        let (first, last) = (samples.first()?, samples.last()?);
        let window_ns = last.at_ns.checked_sub(first.at_ns)? as f64;
        let softirqs = spans(&first.softirqs, &last.softirqs);
        let of = |cpu: &u32| {
            let idle = idle(last, *cpu)?.checked_sub(idle(first, *cpu)?)?;
            let idle_ns = idle as f64 * 1e9 / ticks_per_second() as f64;
            let busy_ns = (window_ns - idle_ns).max(0.0);
            let is_timed = softirqs.iter().any(|span| span.cpu == *cpu);
            let softirq = is_timed.then(|| timed(&softirqs, |span| span.cpu == *cpu));
            Some(CpuTime {
                busy_ns,
                softirq_ns: softirq.flatten().map(|timed| timed.ns.min(busy_ns)),
            })
        };
        cpus.iter().map(of).collect()
    }
}

/// The ticks for which a CPU had been idle at this sample.
fn idle(sample: &Sample, cpu: u32) -> Option<u64> {
    let ticks = sample.cpus.iter().find(|ticks| ticks.cpu == cpu)?;
    Some(ticks.idle.saturating_add(ticks.iowait))
}
