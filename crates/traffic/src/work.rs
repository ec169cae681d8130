//! CPU time that the program works on a message, as an application does between its calls.

use std::hint::black_box;
use std::time::Instant;

use bitcost_model::conditions::Conditions;

/// Steps of one batch of the calibration: some ten microseconds, so that many batches fit between
/// the interruptions of a busy host.
const STEPS: u32 = 20_000;

/// Batches of the calibration, of which the fastest counts: a disturbance only makes one longer.
const BATCHES: u32 = 50;

/// A fixed number of steps, which take the requested CPU time where nothing else uses the core. A
/// clock would count interrupts as work; steps do not.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Steps on each message.
    steps: u32,
}

impl Work {
    /// The work of `work_ns` of CPU time on each message, calibrated on the CPU that calls this;
    /// absent where it is 0.
    pub fn of(work_ns: u32) -> Option<Work> {
        if work_ns == 0 {
            return None;
        }
        let batch_ns = |_| {
            let begin = Instant::now();
            work(STEPS);
            u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
        };
        let fastest_ns = (0..BATCHES).map(batch_ns).min().map_or(1, |ns| ns.max(1));
        let steps = u64::from(work_ns) * u64::from(STEPS) / fastest_ns;
        Some(Work {
            steps: u32::try_from(steps).unwrap_or(u32::MAX).max(1),
        })
    }

    /// The work of a sender that does not pace itself, before each message. One that does works
    /// while it waits (`crate::pacing`).
    pub fn of_unpaced_sender(conditions: &Conditions) -> Option<Work> {
        match conditions.paced_messages_per_second(None) {
            Some(_) => None,
            None => Work::of(conditions.buffers.send_work_ns),
        }
    }

    /// Works on this many messages.
    #[inline]
    pub fn on_messages(self, messages: usize) {
        for _ in 0..messages {
            work(self.steps);
        }
    }
}

/// A chain of multiplications, each of which waits for the one before it: it touches no memory.
#[inline(never)]
fn work(steps: u32) {
    let mut value = black_box(u64::from(steps) | 1);
    for _ in 0..steps {
        value = black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
    black_box(value);
}
