//! The speed of the machine during a run: a fixed loop on each CPU, ten times a second.
//!
//! What neighbours on the same cores take is in no clock of a virtual machine, but it makes a loop
//! slower that keeps the arithmetic units and the first-level cache busy. The loop needs nothing
//! else, and each sample is the fastest of several short stretches: a stretch that an interrupt or
//! another thread cuts is longer, so the run's own load is not measured.

use std::hint::black_box;
use std::time::Instant;

use bitcost_model::counters::CpuSpeed;
use bitcost_sys::clock::monotonic_ns;
use bitcost_sys::thread::allowed_cpus;

use crate::meter::{EVERY, Meter};

/// Stretches of a sample, of which the fastest counts.
const STRETCHES: usize = 8;

const PASSES: usize = 8;

/// Numbers in the table: 4 KiB, which fits any first-level cache.
const NUMBERS: usize = 512;

const CPUS_MOST: usize = 16;

pub struct SpeedMeter(Vec<(u32, Meter)>);

impl SpeedMeter {
    /// Starts a thread on each of these CPUs; if none is named, on those that may be used. A CPU
    /// whose thread cannot be started or pinned is not measured.
    pub fn start(cpus: &[u32]) -> SpeedMeter {
        let cpus = match cpus {
            [] => allowed_cpus().unwrap_or_default(),
            named => named.to_vec(),
        };
        // Between the samples of the CPUs' distance, for which the same CPU may be needed.
        let begin = Instant::now() + EVERY / 2;
        let meters = cpus.into_iter().take(CPUS_MOST).filter_map(|cpu| {
            let mut table = std::array::from_fn(|index| index as u64);
            let take = move |_| Some(sample(&mut table));
            Some((cpu, Meter::start(("speed", cpu), begin, take)?))
        });
        SpeedMeter(meters.collect())
    }

    pub fn finish(self) -> Vec<CpuSpeed> {
        let speed = |(cpu, meter): (u32, Meter)| {
            let loop_ns = meter.finish().filter(|samples| !samples.is_empty())?;
            Some(CpuSpeed { cpu, loop_ns })
        };
        self.0.into_iter().filter_map(speed).collect()
    }
}

fn sample(table: &mut [u64; NUMBERS]) -> u32 {
    let stretch = |_| {
        let start_ns = monotonic_ns();
        work(black_box(table));
        monotonic_ns().saturating_sub(start_ns)
    };
    let fastest = (0..STRETCHES).map(stretch).min().unwrap_or_default();
    u32::try_from(fastest).unwrap_or(u32::MAX)
}

/// Four independent chains of multiplications, additions, loads and stores, so that the core's
/// units and not the latency of one of them set the pace.
fn work(table: &mut [u64; NUMBERS]) {
    let mut chains = [1_u64, 2, 3, 4];
    for _ in 0..PASSES {
        for numbers in table.chunks_exact_mut(chains.len()) {
            for (chain, number) in chains.iter_mut().zip(numbers) {
                *chain = chain
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    .wrapping_add(*number);
                *number = *chain >> 7;
            }
        }
    }
    black_box(chains);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_that_may_be_used_is_measured() {
        let allowed = allowed_cpus().expect("the CPUs");
        let meter = SpeedMeter::start(&[]);
        std::thread::sleep(3 * EVERY);
        let speeds = meter.finish();
        assert!(speeds.iter().all(|speed| allowed.contains(&speed.cpu)));
        assert!(
            speeds
                .iter()
                .flat_map(|speed| &speed.loop_ns)
                .all(|ns| *ns > 0)
        );
        assert!(SpeedMeter::start(&[u32::MAX]).finish().is_empty());
    }
}
