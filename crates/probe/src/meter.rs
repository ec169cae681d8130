//! Measurements that repeat beside a run: a thread on one CPU takes a sample in each period.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::cores::pinned;

/// The period.
pub const EVERY: Duration = Duration::from_millis(100);

pub struct Meter {
    /// Dropped to end the thread.
    release: Sender<()>,
    thread: JoinHandle<Option<Vec<u32>>>,
}

impl Meter {
    /// Starts the thread; absent where that fails. Samples are numbered by the time since `begin`, so that threads with the
    /// same one mean the same sample.
    pub fn start(
        (name, cpu): (&str, u32),
        begin: Instant,
        mut take: impl FnMut(u64) -> Option<u32> + Send + 'static,
    ) -> Option<Meter> {
        let (release, released) = mpsc::channel();
        let measure = move || {
            let mut found = Vec::new();
            pinned(cpu)?;
            let mut sample = 0;
            loop {
                let past = begin.elapsed().as_nanos() / EVERY.as_nanos() + 1;
                sample = (sample + 1).max(u64::try_from(past).unwrap_or(u64::MAX));
                let at = begin + EVERY * u32::try_from(sample).unwrap_or(u32::MAX);
                let wait = at.saturating_duration_since(Instant::now());
                if released.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    return Some(found);
                }
                found.extend(take(sample));
            }
        };
        let thread = Builder::new().name(name.to_owned()).spawn(measure).ok()?;
        Some(Meter { release, thread })
    }

    /// Ends the thread, and returns its samples; absent where it could not run on its CPU.
    pub fn finish(self) -> Option<Vec<u32>> {
        drop(self.release);
        self.thread.join().ok().flatten()
    }
}
