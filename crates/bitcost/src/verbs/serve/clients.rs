//! What a server says of its clients, and counts for its last line.

use std::fmt::Display;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bitcost_model::harmless;
use bitcost_model::units::counted;

use super::log::Log;

/// Lines about clients that were refused or failed in one second; more clients are only counted.
const MOST_LINES: u32 = 10;

pub struct Clients {
    log: Log,
    refused: usize,
    failed: usize,
    /// When the present second of lines began, its lines, and clients without a line.
    second: Instant,
    lines: u32,
    unsaid: usize,
}

impl Clients {
    pub fn new(log: Log) -> Clients {
        Clients {
            log,
            refused: 0,
            failed: 0,
            second: Instant::now(),
            lines: 0,
            unsaid: 0,
        }
    }

    /// Says what a client did, on standard output.
    pub fn served(&self, peer: SocketAddr, what: &str) {
        self.log
            .result(&format!("{}: {}", from(peer), harmless(what)));
    }

    /// Says what was refused to a client, on standard error.
    pub fn refused(&mut self, peer: SocketAddr, why: impl Display) {
        self.refused += 1;
        self.say(peer, &format!("refused: {why}"));
    }

    /// Says why a client was not served, on standard error.
    pub fn failed(&mut self, peer: SocketAddr, reason: &str) {
        self.failed += 1;
        self.say(peer, reason);
    }

    fn say(&mut self, peer: SocketAddr, what: &str) {
        if self.second.elapsed() >= Duration::from_secs(1) {
            if self.unsaid > 0 {
                let more = counted(self.unsaid, "more client");
                self.log.message(&format!("bitcost: {more}"));
            }
            (self.second, self.lines, self.unsaid) = (Instant::now(), 0, 0);
        }
        self.lines += 1;
        if self.lines > MOST_LINES {
            self.unsaid += 1;
            return;
        }
        let line = format!("bitcost: {}: {}", from(peer), harmless(what));
        self.log.message(&line);
    }

    /// Prints the last line: what was served, and who was not.
    pub fn finish(self, served: &str) {
        let mut summary = format!("served {served}");
        for (count, what) in [(self.refused, "refused"), (self.failed, "failed")] {
            if count > 0 {
                summary += &format!("; {count} {what}");
            }
        }
        self.log.result(&summary);
        self.log.finish();
    }
}

fn from(peer: SocketAddr) -> String {
    format!("{} port {}", peer.ip().to_canonical(), peer.port())
}
