//! How far two CPUs are from each other: the round trip of a cache line between them.
//!
//! The time depends on which caches the two share: about 20 ns between threads of one core, 50 to
//! 100 ns within a last-level cache, 200 to 500 ns beyond it. A hypervisor may move a virtual CPU to
//! another core at any time, which no counter of the guest tells.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bitcost_model::counters::CoreToCore;
use bitcost_sys::clock::monotonic_ns;

use crate::meter::Meter;

const TRIPS: u64 = 16;

/// Stretches of a sample, of which the fastest counts: one that an interrupt cuts is longer.
const STRETCHES: u64 = 4;

/// How long a thread waits for the other one, in ns: as long as a thread may take to preempt another.
const PATIENCE_NS: u64 = 150_000;

/// Looks at the cache line between two clock reads.
const LOOKS: u32 = 64;

/// The cache line that two threads pass to each other. Two lines long, because processors fetch
/// pairs of them.
#[repr(align(128))]
struct Line {
    value: AtomicU64,
    /// How long a thread waits for the other one before it gives a sample up.
    patience_ns: u64,
}

impl Line {
    fn new(patience_ns: u64) -> Line {
        Line {
            value: AtomicU64::new(0),
            patience_ns,
        }
    }

    /// Waits until the other thread has stored this value; returns whether it has.
    fn holds(&self, value: u64) -> bool {
        let mut deadline_ns = None;
        loop {
            for _ in 0..LOOKS {
                if self.value.load(Ordering::Acquire) == value {
                    return true;
                }
                std::hint::spin_loop();
            }
            let now_ns = monotonic_ns();
            if now_ns > *deadline_ns.get_or_insert(now_ns + self.patience_ns) {
                return false;
            }
        }
    }

    /// One side of a sample. The serving thread returns the time of a round trip in its fastest
    /// stretch, in ns; both return nothing where the other thread did not take part to the end.
    fn play(&self, sample: u64, serves: bool) -> Option<u64> {
        let mut fastest_ns = None;
        for stretch in 0..STRETCHES {
            let start_ns = monotonic_ns();
            for trip in 0..TRIPS {
                // Odd values travel there, even ones back; no value is used twice.
                let there = (((sample * STRETCHES) + stretch) * TRIPS + trip) * 2 + 1;
                if serves {
                    self.value.store(there, Ordering::Release);
                    self.holds(there + 1).then_some(())?;
                } else {
                    self.holds(there).then_some(())?;
                    self.value.store(there + 1, Ordering::Release);
                }
            }
            let trip_ns = monotonic_ns().saturating_sub(start_ns) / TRIPS;
            // The first stretch contains the wait for the other thread.
            if stretch > 0 {
                fastest_ns = Some(fastest_ns.unwrap_or(trip_ns).min(trip_ns));
            }
        }
        fastest_ns
    }
}

pub struct CoreToCoreMeter {
    cpus: [u32; 2],
    serving: Meter,
    answering: Meter,
}

impl CoreToCoreMeter {
    /// Starts a thread on each of these CPUs; absent where they are the same. Once in each period the threads meet, for
    /// under 0.2 ms.
    pub fn start(cpus: [u32; 2]) -> Option<CoreToCoreMeter> {
        if cpus[0] == cpus[1] {
            return None;
        }
        let (line, begin) = (Arc::new(Line::new(PATIENCE_NS)), Instant::now());
        let side = |cpu, serves| {
            let line = Arc::clone(&line);
            let meet = move |sample| u32::try_from(line.play(sample, serves)?).ok();
            Meter::start(("core-to-core", cpu), begin, meet)
        };
        Some(CoreToCoreMeter {
            cpus,
            serving: side(cpus[0], true)?,
            answering: side(cpus[1], false)?,
        })
    }

    /// Ends the threads, and returns what they measured; absent where one of them could not run there, or they never ran
    /// at the same time.
    pub fn finish(self) -> Option<CoreToCore> {
        let (round_trip_ns, answered) = (self.serving.finish(), self.answering.finish());
        let round_trip_ns = round_trip_ns.filter(|samples| !samples.is_empty())?;
        answered.map(|_| CoreToCore {
            cpus: self.cpus,
            round_trip_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use bitcost_sys::thread::allowed_cpus;

    use super::*;

    #[test]
    fn a_cpu_that_cannot_be_used_has_no_distance() {
        let first = allowed_cpus().expect("the CPUs")[0];
        let meter = CoreToCoreMeter::start([first, 4000]).expect("threads");
        assert_eq!(meter.finish(), None);
    }

    #[test]
    fn both_threads_end_a_sample_that_they_meet_in() {
        let line = Line::new(30_000_000_000);
        std::thread::scope(|scope| {
            let answering = scope.spawn(|| line.play(1, false));
            assert!(line.play(1, true).is_some_and(|trip_ns| trip_ns > 0));
            assert!(answering.join().expect("no panic").is_some());
        });
    }

    #[test]
    fn one_cpu_has_no_distance() {
        assert!(CoreToCoreMeter::start([0, 0]).is_none());
    }

    #[test]
    fn a_thread_that_is_alone_gives_the_sample_up() {
        let line = Line::new(PATIENCE_NS);
        assert_eq!(line.play(1, true), None);
        assert_eq!(line.play(1, false), None);
    }
}
