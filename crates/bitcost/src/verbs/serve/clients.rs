//! Lines on standard error about clients that were refused or failed, of which there may be many.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bitcost_model::harmless;
use bitcost_model::units::counted;

use super::log::Log;

/// Lines in one second; more clients are only counted.
const MOST_LINES: u32 = 10;

/// What was said in the present second.
#[derive(Default)]
pub struct ClientLines {
    second: Option<Instant>,
    lines: u32,
    unsaid: usize,
}

impl ClientLines {
    /// Says what happened to a client, unless there are too many lines.
    pub fn say(&mut self, log: &Log, peer: SocketAddr, what: &str) {
        let is_new = |second: Instant| second.elapsed() >= Duration::from_secs(1);
        if self.second.is_none_or(is_new) {
            if self.unsaid > 0 {
                log.message(&format!("bitcost: {}", counted(self.unsaid, "more client")));
            }
            (self.second, self.lines, self.unsaid) = (Some(Instant::now()), 0, 0);
        }
        self.lines += 1;
        if self.lines > MOST_LINES {
            self.unsaid += 1;
            return;
        }
        log.message(&format!("bitcost: {}: {}", from(peer), harmless(what)));
    }
}

/// Where a client is.
pub fn from(peer: SocketAddr) -> String {
    format!("{} port {}", peer.ip().to_canonical(), peer.port())
}
