//! How far two CPUs are from each other: the round trip of a cache line between them.
//!
//! The time depends on which caches the two share: about 20 ns between threads of one core, 50 to
//! 100 ns within a last-level cache, 200 to 500 ns beyond it. A hypervisor may move a virtual CPU to
//! another core at any time, which no counter of the guest tells.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use bitcost_model::counters::CoreToCore;
use bitcost_sys::clock::monotonic_ns;

use crate::cores::pinned;

pub const EVERY: Duration = Duration::from_millis(100);

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
    /// Dropped to end the threads.
    release: [Sender<()>; 2],
    threads: [JoinHandle<Option<Vec<u32>>>; 2],
}

impl CoreToCoreMeter {
    /// Starts a thread on each of these CPUs; absent where they are the same. Once in each period the threads meet, for
    /// under 0.2 ms.
    pub fn start(cpus: [u32; 2], every: Duration) -> Option<CoreToCoreMeter> {
        if cpus[0] == cpus[1] {
            return None;
        }
        let line = Arc::new(Line::new(PATIENCE_NS));
        let begin = Instant::now();
        let side = |index: usize| {
            let (release, released) = mpsc::channel();
            let (line, cpu) = (Arc::clone(&line), cpus[index]);
            let meet = move || {
                let mut found = Vec::new();
                pinned(cpu)?;
                // Samples are numbered by the time, so that both threads mean the same one.
                let mut sample = 0;
                loop {
                    let past = begin.elapsed().as_nanos() / every.as_nanos() + 1;
                    sample = (sample + 1).max(u64::try_from(past).unwrap_or(u64::MAX));
                    let at = begin + every * u32::try_from(sample).unwrap_or(u32::MAX);
                    let wait = at.saturating_duration_since(Instant::now());
                    if released.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                        return Some(found);
                    }
                    let trip_ns = line.play(sample, index == 0);
                    found.extend(trip_ns.and_then(|ns| u32::try_from(ns).ok()));
                }
            };
            let name = "core-to-core".to_owned();
            Some((release, Builder::new().name(name).spawn(meet).ok()?))
        };
        let ((first, serving), (second, answering)) = (side(0)?, side(1)?);
        Some(CoreToCoreMeter {
            cpus,
            release: [first, second],
            threads: [serving, answering],
        })
    }

    /// Ends the threads, and returns what they measured; absent where one of them could not run there, or they never ran
    /// at the same time.
    pub fn finish(self) -> Option<CoreToCore> {
        drop(self.release);
        let ended = self.threads.map(|thread| thread.join().ok().flatten());
        let [Some(round_trip_ns), Some(_)] = ended else {
            return None;
        };
        (!round_trip_ns.is_empty()).then_some(CoreToCore {
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
        let meter = CoreToCoreMeter::start([first, 4000], EVERY).expect("threads");
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
        assert!(CoreToCoreMeter::start([0, 0], EVERY).is_none());
    }

    #[test]
    fn a_thread_that_is_alone_gives_the_sample_up() {
        let line = Line::new(PATIENCE_NS);
        assert_eq!(line.play(1, true), None);
        assert_eq!(line.play(1, false), None);
    }
}
