//! What the sending and receiving loops of all streams share: the course of the test, the rate,
//! and what is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bitcost_sys::clock;
use bitcost_sys::thread::CpuTimes;

use crate::params::Params;
use crate::results::StreamResult;

/// The longest blocking call of a stream; a receiver that gets nothing for this long after the end
/// of the test has everything.
pub const QUIET: Duration = Duration::from_millis(200);

/// How often a stream that waits asks whether the test has ended.
const TURN: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    Running,
    /// Senders end; receivers take what is on its way.
    Draining,
    Over,
}

/// The course of a test, which its session changes and its streams follow.
pub struct Course {
    pub params: Params,
    /// When data began to flow.
    pub started: Instant,
    stage: AtomicU8,
    /// Blocks that the server may still send; absent: not bounded.
    left: Option<AtomicU64>,
}

impl Course {
    /// A test that starts now. A server that sends, sends the blocks that the client asked for, or
    /// as many whole ones as hold the bytes that it asked for, as iperf3's does; with an omitted
    /// time both sides would count others, so that only the client can end the test.
    pub fn new(params: Params) -> Course {
        let blocks = match params.blocks {
            0 => params.bytes.div_ceil(params.length as u64),
            blocks => blocks,
        };
        let is_exact = blocks > 0 && params.omit_seconds == 0;
        Course {
            started: Instant::now(),
            stage: AtomicU8::new(Stage::Running as u8),
            left: is_exact.then(|| AtomicU64::new(blocks)),
            params,
        }
    }

    pub fn enter(&self, stage: Stage) {
        self.stage.fetch_max(stage as u8, Relaxed);
    }

    #[inline]
    pub fn is_running(&self) -> bool {
        self.stage.load(Relaxed) == Stage::Running as u8
    }

    #[inline]
    pub fn is_over(&self) -> bool {
        self.stage.load(Relaxed) == Stage::Over as u8
    }

    pub fn counts_blocks(&self) -> bool {
        self.left.is_some()
    }

    /// Takes a block out of those that may still be sent; false: none may.
    pub fn take_block(&self) -> bool {
        let take = |left: u64| left.checked_sub(1);
        let taken = |left: &AtomicU64| left.fetch_update(Relaxed, Relaxed, take).is_ok();
        self.left.as_ref().is_none_or(taken)
    }

    pub fn wait(&self, time: Duration) {
        let until = Instant::now() + time;
        while self.is_running() && Instant::now() < until {
            std::thread::sleep(TURN);
        }
    }
}

#[derive(Debug, Default)]
pub struct Counted {
    /// So far, and at last at the end.
    pub all: StreamResult,
    /// At the end of the omitted time.
    omitted: StreamResult,
    pub cpu: CpuTimes,
    /// All bytes, as the session sees them meanwhile.
    bytes: Arc<AtomicU64>,
    omitted_until: Option<Instant>,
}

impl Counted {
    pub fn new(course: &Course, bytes: Arc<AtomicU64>) -> Counted {
        let omitted = Duration::from_secs(course.params.omit_seconds);
        Counted {
            bytes,
            omitted_until: (!omitted.is_zero()).then(|| course.started + omitted),
            ..Counted::default()
        }
    }

    /// Tells the session the bytes, and keeps the counts at the end of the omitted time; `complete`
    /// adds what is not counted all the time.
    #[inline]
    pub fn note(&mut self, complete: impl FnOnce(&mut StreamResult)) {
        self.bytes.store(self.all.bytes, Relaxed);
        if self
            .omitted_until
            .is_some_and(|until| Instant::now() >= until)
        {
            self.omitted_until = None;
            complete(&mut self.all);
            self.omitted = self.all;
        }
    }

    /// The result of a stream that took this many seconds without the omitted ones.
    pub fn result(&self, id: u64, seconds: f64) -> StreamResult {
        let (all, omitted) = (self.all, self.omitted);
        let before = omitted.retransmits.unwrap_or(0);
        StreamResult {
            id,
            bytes: all.bytes - omitted.bytes,
            retransmits: all.retransmits.map(|all| all.saturating_sub(before)),
            omitted_errors: omitted.errors,
            omitted_packets: omitted.packets,
            end_time: seconds,
            ..all
        }
    }
}

/// Keeps a rate: block by block, or several at once where the client asked for bursts. A stream that
/// is late makes up for it, as iperf3's does.
pub struct Pacer {
    interval_ns: f64,
    burst: u64,
    started_ns: u64,
    blocks: u64,
}

impl Pacer {
    /// The rate of the test's streams; absent where they send as fast as possible.
    pub fn new(params: &Params) -> Option<Pacer> {
        (params.bitrate > 0).then(|| Pacer {
            interval_ns: params.length as f64 * 8e9 / params.bitrate as f64,
            burst: params.burst,
            started_ns: clock::monotonic_ns(),
            blocks: 0,
        })
    }

    /// Waits until the next block is due; returns early where the test ends.
    pub fn wait(&mut self, course: &Course) {
        let group = self.blocks / self.burst * self.burst;
        let due_ns = self
            .started_ns
            .saturating_add((group as f64 * self.interval_ns) as u64);
        self.blocks += 1;
        loop {
            let now_ns = clock::monotonic_ns();
            if now_ns >= due_ns || !course.is_running() {
                return;
            }
            clock::sleep_until(due_ns.min(now_ns + QUIET.as_nanos() as u64));
        }
    }
}
