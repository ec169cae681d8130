//! TCP metrics that the kernel caches for each peer (`ip tcp_metrics`): the connections of a run
//! start with them.
//!
//! The namespaces of a lab start without any. On another host, metrics that were cached before this
//! agent's first connection to a peer belong to the user: they are kept, and the run records them.
//! Metrics of this agent's connections are removed before its next run and at its end.

use std::collections::BTreeSet;
use std::net::{IpAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bitcost_model::record::{CACHED_METRICS, InEffect, NO_CACHED_METRICS};
use bitcost_sys::netlink::{PeerMetrics, TcpMetrics};

/// The peers without cached metrics before this agent connected to them. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct CachedMetrics {
    ours: Arc<Mutex<BTreeSet<IpAddr>>>,
}

impl CachedMetrics {
    /// Removes the metrics of earlier runs of this agent, where this is permitted, and reads what
    /// is cached; absent where the kernel does not report it.
    pub fn start_run(&self) -> Option<Vec<PeerMetrics>> {
        self.clear();
        TcpMetrics::open().ok()??.all().ok()
    }

    /// The initial metrics of connections to these peers, given the metrics that were cached
    /// before, as the run records them.
    pub fn record(&self, found: Option<&[PeerMetrics]>, peers: &BTreeSet<IpAddr>) -> InEffect {
        let actual = found.map(|found| {
            let is_cached = |peer: &&IpAddr| found.iter().any(|entry| entry.address == **peer);
            self.ours()
                .extend(peers.iter().filter(|peer| !is_cached(peer)));
            let of_peers = found
                .iter()
                .filter(|entry| peers.contains(&entry.address))
                .map(text);
            let all: Vec<String> = of_peers.collect();
            if all.is_empty() {
                NO_CACHED_METRICS.to_owned()
            } else {
                all.join("; ")
            }
        });
        InEffect::found(CACHED_METRICS, actual)
    }

    /// Removes the metrics of this agent's connections. Where this is not permitted, they stay, and
    /// the next run records them.
    pub fn clear(&self) {
        let ours = self.ours();
        if ours.is_empty() {
            return;
        }
        if let Ok(Some(mut metrics)) = TcpMetrics::open() {
            ours.iter().for_each(|peer| drop(metrics.forget(*peer)));
        }
    }

    fn ours(&self) -> MutexGuard<'_, BTreeSet<IpAddr>> {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address of the peer of a connection; absent for another kind of socket.
pub fn peer_of(socket: OwnedFd) -> Option<IpAddr> {
    TcpStream::from(socket)
        .peer_addr()
        .ok()
        .map(|address| address.ip().to_canonical())
}

/// `10.0.0.2 rtt 312 us, reordering 5`.
fn text(entry: &PeerMetrics) -> String {
    let values = [
        ("rtt", entry.rtt_us, " us"),
        ("ssthresh", entry.ssthresh, ""),
        ("cwnd", entry.cwnd, ""),
        ("reordering", entry.reordering, ""),
    ];
    let known = values
        .iter()
        .filter_map(|(name, value, unit)| Some(format!("{name} {}{unit}", (*value)?)));
    format!("{} {}", entry.address, known.collect::<Vec<_>>().join(", "))
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_cached_before_the_run_are_recorded_and_kept() {
        let [old, new] = [IpAddr::from([10, 0, 0, 2]), IpAddr::from([10, 0, 0, 3])];
        let entry = PeerMetrics {
            address: old,
            rtt_us: Some(312),
            ssthresh: None,
            cwnd: None,
            reordering: Some(5),
        };
        let metrics = CachedMetrics::default();
        let recorded = metrics.record(Some(&[entry]), &BTreeSet::from([old, new]));
        assert_eq!(
            (recorded.requested, recorded.actual.as_deref()),
            (None, Some("10.0.0.2 rtt 312 us, reordering 5"))
        );
        assert_eq!(*metrics.ours(), BTreeSet::from([new]));
        assert_eq!(
            metrics
                .record(Some(&[]), &BTreeSet::from([new]))
                .actual
                .as_deref(),
            Some("none")
        );
        assert_eq!(metrics.record(None, &BTreeSet::new()).actual, None);
    }
}
