//! What all clients of a soak share: when they come, and how many came.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// What all clients share.
#[derive(Default)]
pub struct Clients {
    /// It is over.
    pub stop: AtomicBool,
    /// They pause, so that the services are at rest.
    pub pause: AtomicBool,
    /// Tests that were made.
    pub good: AtomicU64,
    /// Tests that were not, of clients that keep to the rules.
    pub good_failed: AtomicU64,
    /// Clients that were refused, as they must be.
    pub refused: AtomicU64,
    /// Connections and tests that were broken off.
    pub bad: AtomicU64,
}

impl Clients {
    /// Waits while the clients pause; false: it is over.
    pub fn goes_on(&self) -> bool {
        while self.pause.load(Relaxed) && !self.stop.load(Relaxed) {
            thread::sleep(Duration::from_millis(50));
        }
        !self.stop.load(Relaxed)
    }
}
