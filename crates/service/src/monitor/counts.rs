//! What was served so far: counts of tests and refusals, and the last test of each peer.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// The most peers whose last test is kept; one more removes the one whose test is the oldest.
pub const MOST_PEERS: usize = 256;

/// A test that was served. Figures that were not measured are absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tested {
    /// What was sent: `tcp`, `udp`, `rr` and so on.
    pub test: &'static str,
    /// Whether the test reached its end.
    pub is_complete: bool,
    /// Its length in seconds; absent where it was not measured.
    pub seconds: Option<f64>,
    /// Bytes of user data that this host received.
    pub received_bytes: u64,
    /// Bytes of user data that this host sent.
    pub sent_bytes: u64,
    /// TCP segments that this host retransmitted.
    pub retransmitted: Option<u64>,
    /// Datagrams to this host that never came.
    pub lost: Option<u64>,
    /// CPU time of the test on this host in seconds.
    pub cpu_seconds: Option<f64>,
}

/// Whose test it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// Whoever has this address.
    Address(IpAddr),
    /// Who proved a key.
    Key {
        /// The name by which it is listed.
        name: String,
        /// Its fingerprint.
        key: String,
    },
}

/// As labels of a figure.
impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Address(address) => write!(f, "peer=\"{}\"", address.to_canonical()),
            Peer::Key { name, key } => {
                write!(f, "peer=\"{}\",key=\"{}\"", escaped(name), escaped(key))
            }
        }
    }
}

/// A value of a label, as the format escapes it.
fn escaped(value: &str) -> String {
    let backslash = value.replace('\\', "\\\\");
    backslash.replace('"', "\\\"").replace('\n', "\\n")
}

/// Tests that take place and tests that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Those that take place.
    pub running: usize,
    /// Those that wait for their turn.
    pub waiting: usize,
}

type AskQueue = Box<dyn Fn() -> Queue + Send + Sync>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// Tests by what was sent and whether they were complete.
    pub tests: BTreeMap<(&'static str, bool), u64>,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    /// Refusals by the name of the rule.
    pub refused: BTreeMap<&'static str, u64>,
    pub failed: u64,
}

/// The last test of a peer.
#[derive(Clone, Debug)]
pub(crate) struct Last {
    pub tested: Tested,
    pub at: SystemTime,
}

/// Everything that is told, by the name of the service, and by its peers.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub services: BTreeMap<&'static str, Totals>,
    pub peers: BTreeMap<(&'static str, Peer), Last>,
}

/// The counts of all services of a server, which they share.
#[derive(Default)]
pub struct Counts {
    told: Mutex<Told>,
    queues: Mutex<BTreeMap<&'static str, AskQueue>>,
    unprinted: AtomicU64,
}

impl Counts {
    pub(crate) fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names a service, so that its counts are there before its first client is.
    pub fn begin(&self, service: &'static str) {
        self.told().services.entry(service).or_default();
    }

    /// The service has a queue, which is asked for each request.
    pub fn with_queue(
        &self,
        service: &'static str,
        queue: impl Fn() -> Queue + Send + Sync + 'static,
    ) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.insert(service, Box::new(queue));
    }

    pub(crate) fn queues(&self) -> Vec<(&'static str, Queue)> {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.iter().map(|(name, ask)| (*name, ask())).collect()
    }

    /// Lines about clients could not be printed.
    pub fn unprinted(&self, lines: u64) {
        self.unprinted.fetch_add(lines, Relaxed);
    }

    /// Lines that could not be printed so far.
    pub fn unprinted_lines(&self) -> u64 {
        self.unprinted.load(Relaxed)
    }

    /// A test of a peer has ended.
    pub fn tested(&self, service: &'static str, peer: Peer, tested: Tested) {
        let mut told = self.told();
        let totals = told.services.entry(service).or_default();
        *totals
            .tests
            .entry((tested.test, tested.is_complete))
            .or_default() += 1;
        totals.received_bytes += tested.received_bytes;
        totals.sent_bytes += tested.sent_bytes;
        let at = SystemTime::now();
        told.peers.insert((service, peer), Last { tested, at });
        if told.peers.len() > MOST_PEERS {
            let oldest = told.peers.iter().min_by_key(|(_, last)| last.at);
            if let Some(key) = oldest.map(|(key, _)| key.clone()) {
                told.peers.remove(&key);
            }
        }
    }

    /// A client was refused by the rule of this name.
    pub fn refused(&self, service: &'static str, rule: &'static str) {
        let mut told = self.told();
        let totals = told.services.entry(service).or_default();
        *totals.refused.entry(rule).or_default() += 1;
    }

    /// A connection failed before its test began.
    pub fn failed(&self, service: &'static str) {
        self.told().services.entry(service).or_default().failed += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_bounded_and_the_oldest_goes_first() {
        let counts = Counts::default();
        for number in 0..=MOST_PEERS as u32 {
            let tested = Tested {
                test: "tcp",
                is_complete: true,
                ..Tested::default()
            };
            let peer = Peer::Address(IpAddr::from(number.to_be_bytes()));
            counts.tested("iperf3", peer, tested);
            std::thread::sleep(std::time::Duration::from_micros(1));
        }
        let told = counts.told();
        assert_eq!(told.peers.len(), MOST_PEERS);
        let first = Peer::Address(IpAddr::from([0, 0, 0, 0]));
        assert!(!told.peers.contains_key(&("iperf3", first)));
        let totals = &told.services["iperf3"];
        assert_eq!(totals.tests[&("tcp", true)], MOST_PEERS as u64 + 1);
    }
}
