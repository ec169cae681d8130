//! The state that a flow's loop shares with the thread that controls it: the phase, and the counts.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bitcost_model::record::{Counts, PhaseCounts};
use bitcost_sys::clock::monotonic_ns;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    Warmup = 0,
    Measured = 1,
    /// After the measured window; the sender continues, so that the receiver's window ends in full
    /// traffic.
    Cooldown = 2,
    /// The sender stops; a receiver continues until it has everything.
    Over = 3,
    Abort = 4,
}

/// The counters of one phase. Only the loop's thread writes them, so that adding needs no atomic
/// operation.
#[derive(Debug, Default)]
struct Tally {
    calls: AtomicU64,
    messages: AtomicU64,
    bytes: AtomicU64,
    short_calls: AtomicU64,
    failed_calls: AtomicU64,
    unanswered: AtomicU64,
    empty_calls: AtomicU64,
    sleeps: AtomicU64,
    slept_ns: AtomicU64,
}

impl Tally {
    fn read(&self) -> Counts {
        Counts {
            calls: self.calls.load(Relaxed),
            messages: self.messages.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            short_calls: self.short_calls.load(Relaxed),
            failed_calls: self.failed_calls.load(Relaxed),
            unanswered: self.unanswered.load(Relaxed),
            empty_calls: self.empty_calls.load(Relaxed),
            sleeps: self.sleeps.load(Relaxed),
            slept_ns: self.slept_ns.load(Relaxed),
        }
    }
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct CacheAligned<T>(T);

/// The shared state of one endpoint of a flow. The phase and the counters are on separate cache
/// lines.
#[derive(Debug)]
pub struct Control {
    phase: CacheAligned<AtomicU8>,
    expected: CacheAligned<AtomicU64>,
    tallies: CacheAligned<[Tally; 2]>,
    /// Bytes that were received and are no messages of the run.
    stray_bytes: AtomicU64,
}

impl Default for Control {
    fn default() -> Control {
        Control {
            phase: CacheAligned(AtomicU8::new(Phase::Warmup as u8)),
            expected: CacheAligned(AtomicU64::new(u64::MAX)),
            tallies: CacheAligned::default(),
            stray_bytes: AtomicU64::new(0),
        }
    }
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed) + amount, Relaxed);
}

impl Control {
    /// Enters a phase; the loop sees it at its next message. An earlier phase is not entered again.
    pub fn enter(&self, phase: Phase) {
        self.phase.0.fetch_max(phase as u8, Relaxed);
    }

    pub fn phase(&self) -> Phase {
        match self.phase.0.load(Relaxed) {
            0 => Phase::Warmup,
            1 => Phase::Measured,
            2 => Phase::Cooldown,
            3 => Phase::Over,
            _ => Phase::Abort,
        }
    }

    /// Gives a receiver of datagrams the number of sent messages, so that it can stop when it has
    /// them all.
    pub fn expect_messages(&self, count: u64) {
        self.expected.0.store(count, Relaxed);
    }

    /// The number given to [`Control::expect_messages`]; absent before that.
    pub fn expected_messages(&self) -> Option<u64> {
        Some(self.expected.0.load(Relaxed)).filter(|count| *count != u64::MAX)
    }

    pub fn counts(&self) -> PhaseCounts {
        PhaseCounts {
            outside: self.tallies.0[0].read(),
            measured: self.tallies.0[1].read(),
        }
    }

    /// The bytes that have moved up to now, with those that were received and are no messages of the
    /// run.
    pub fn moved_bytes(&self) -> u64 {
        let bytes = |tally: &Tally| tally.bytes.load(Relaxed);
        self.tallies.0.iter().map(bytes).sum::<u64>() + self.stray_bytes.load(Relaxed)
    }

    /// Counts bytes that were received and are no message of the run.
    #[cold]
    pub(crate) fn count_stray(&self, bytes: usize) {
        add(&self.stray_bytes, bytes as u64);
    }

    pub(crate) fn count_message(&self, phase: Phase, bytes: usize) {
        self.count_batch(phase, 1, 1, bytes as u64);
    }

    pub(crate) fn count_transaction(&self, phase: Phase, calls: u64, bytes: u64) {
        self.count_batch(phase, calls, 1, bytes);
    }

    pub(crate) fn count_unanswered(&self, phase: Phase) {
        add(&self.tally(phase).unanswered, 1);
    }

    /// Counts a call that found no data, in the phase of this endpoint.
    pub(crate) fn count_empty(&self) {
        add(&self.tally(self.phase()).empty_calls, 1);
    }

    pub(crate) fn count_call(&self, phase: Phase, bytes: usize) {
        let tally = self.tally(phase);
        add(&tally.calls, 1);
        add(&tally.bytes, bytes as u64);
    }

    pub(crate) fn count_batch(&self, phase: Phase, calls: u64, messages: u64, bytes: u64) {
        let tally = self.tally(phase);
        add(&tally.calls, calls);
        add(&tally.messages, messages);
        add(&tally.bytes, bytes);
    }

    pub(crate) fn count_short(&self, phase: Phase) {
        add(&self.tally(phase).short_calls, 1);
    }

    pub(crate) fn count_failed(&self, phase: Phase) {
        add(&self.tally(phase).failed_calls, 1);
    }

    /// Sleeps as the run requests, and counts the time, in the phase of this endpoint.
    pub(crate) fn sleep(&self, length: Duration) {
        let begin_ns = monotonic_ns();
        std::thread::sleep(length);
        self.count_sleep(monotonic_ns() - begin_ns);
    }

    /// Counts a sleep of the loop, in the phase of this endpoint.
    pub(crate) fn count_sleep(&self, slept_ns: u64) {
        let tally = self.tally(self.phase());
        add(&tally.sleeps, 1);
        add(&tally.slept_ns, slept_ns);
    }

    pub(crate) fn count_whole(&self, phase: Phase) {
        add(&self.tally(phase).messages, 1);
    }

    /// The counters of a phase: those of the measured window, or those of the time before and after
    /// it.
    fn tally(&self, phase: Phase) -> &Tally {
        &self.tallies.0[usize::from(phase == Phase::Measured)]
    }
}
