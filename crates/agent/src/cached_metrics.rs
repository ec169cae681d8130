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
use bitcost_sys::netlink;

/// The peers without cached metrics before this agent connected to them. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct CachedMetrics {
    ours: Arc<Mutex<BTreeSet<IpAddr>>>,
}

impl CachedMetrics {
    /// Removes the metrics of earlier runs of this agent, where this is permitted, and reads which
    /// peers have some; absent where the kernel does not report it.
    pub fn start_run(&self) -> Option<Vec<IpAddr>> {
        self.clear();
        netlink::cached_metrics().ok()?
    }

    /// Which of these peers had cached metrics before this run, as it records them.
    pub fn record(&self, found: Option<&[IpAddr]>, peers: &BTreeSet<IpAddr>) -> InEffect {
        let actual = found.map(|found| {
            let (cached, others): (Vec<&IpAddr>, Vec<_>) =
                peers.iter().partition(|peer| found.contains(peer));
            self.ours().extend(others);
            let cached: Vec<String> = cached.iter().map(ToString::to_string).collect();
            match cached.is_empty() {
                true => NO_CACHED_METRICS.to_owned(),
                false => cached.join(", "),
            }
        });
        InEffect::found(CACHED_METRICS, actual)
    }

    /// Removes the metrics of this agent's connections. Where this is not permitted, they stay, and
    /// the next run records them.
    pub fn clear(&self) {
        let ours = self.ours();
        ours.iter()
            .for_each(|peer| drop(netlink::forget_metrics(*peer)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_cached_before_the_run_are_recorded_and_kept() {
        let [old, new] = [IpAddr::from([10, 0, 0, 2]), IpAddr::from([10, 0, 0, 3])];
        let metrics = CachedMetrics::default();
        let recorded = metrics.record(Some(&[old]), &BTreeSet::from([old, new]));
        assert_eq!(
            (recorded.requested, recorded.actual.as_deref()),
            (None, Some("10.0.0.2"))
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
