//! The counters of what became of packets, before and after the whole traffic of a run.

use std::thread;
use std::time::{Duration, Instant};

use bitcost_model::counters::Queue;
use bitcost_model::record::{Counts, Sample, WholeRun};
use bitcost_probe::{Between, Socket};

use crate::sampler::Sampler;

/// The longest wait for packets that are still on their way through the lab.
const PATIENCE: Duration = Duration::from_secs(2);

/// The interval at which that is checked; the counters of a link emulator are at most 10 ms old.
const PAUSE: Duration = Duration::from_millis(20);

pub struct Whole {
    sampler: Sampler,
    parts: usize,
    before: Sample,
}

impl Whole {
    /// Opens the counters and reads them; every flow has its socket, and none has sent a message.
    pub fn start(device: &str, sockets: Vec<Vec<Socket>>, between: &Between) -> Whole {
        let parts = sockets.len();
        let mut sampler = Sampler::of_packets(device, sockets, between);
        Whole {
            before: sampler.read(vec![Counts::default(); parts]),
            sampler,
            parts,
        }
    }

    /// Reads the counters once every flow has ended and nothing waits between the endpoints, or after
    /// [`PATIENCE`].
    pub fn finish(mut self) -> Box<WholeRun> {
        let deadline = Instant::now() + PATIENCE;
        if !self.before.emulators.is_empty() {
            thread::sleep(PAUSE);
        }
        loop {
            let after = self.sampler.read(vec![Counts::default(); self.parts]);
            if !is_anything_on_its_way(&after) || Instant::now() >= deadline {
                let before = self.before;
                return Box::new(WholeRun { before, after });
            }
            thread::sleep(PAUSE);
        }
    }
}

/// True while packets wait in a queue or a link emulator of the lab.
fn is_anything_on_its_way(sample: &Sample) -> bool {
    let waits = |queue: &Queue| queue.node.is_some() && queue.backlog_packets > 0;
    let is_of_kernel = |queue: &&Queue| {
        let mut emulators = sample.emulators.iter();
        !emulators.any(|emulator| emulator.device == queue.device)
    };
    sample.queues.iter().filter(is_of_kernel).any(waits)
        || sample
            .emulators
            .iter()
            .any(|emulator| emulator.waiting_segments() > 0)
}
