//! What the kernel remembers of former TCP connections to the peer (`ip tcp_metrics`): a run's connections begin with it.
//!
//! Labs remember nothing. On a host that stays, what was remembered before this agent's first connection to a peer is the
//! user's and stays; the run tells of it. What this agent's own connections left is removed before its next run and at its end.

use std::collections::BTreeSet;
use std::net::{IpAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::record::{CACHED_METRICS, InForce, NO_CACHED_METRICS};
use netlink::{PeerMetrics, TcpMetrics};

/// The peers of which nothing was remembered before this agent met them. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct CachedMetrics {
    ours: Arc<Mutex<BTreeSet<IpAddr>>>,
}

impl CachedMetrics {
    /// Removes what earlier runs of this agent left, where this is permitted, and reads what is remembered; absent where the
    /// kernel does not tell.
    pub fn begin(&self) -> Option<Vec<PeerMetrics>> {
        self.clear();
        TcpMetrics::open().ok()??.all().ok()
    }

    /// What connections to these peers began with, given what was remembered before, as the run records it.
    pub fn met(&self, found: Option<&[PeerMetrics]>, peers: &BTreeSet<IpAddr>) -> InForce {
        let actual = found.map(|found| {
            let is_remembered = |peer: &&IpAddr| found.iter().any(|entry| entry.address == **peer);
            self.ours().extend(peers.iter().filter(|peer| !is_remembered(peer)));
            let of_peers = found.iter().filter(|entry| peers.contains(&entry.address)).map(text);
            let all: Vec<String> = of_peers.collect();
            if all.is_empty() { NO_CACHED_METRICS.to_owned() } else { all.join("; ") }
        });
        InForce { name: CACHED_METRICS.to_owned(), asked: None, actual }
    }

    /// Removes what this agent's connections left. Where this is not permitted it stays, and the next run tells of it.
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

/// The address of the other end of a connection; `None` for another kind of socket.
pub fn peer_of(socket: OwnedFd) -> Option<IpAddr> {
    TcpStream::from(socket).peer_addr().ok().map(|address| address.ip().to_canonical())
}

/// `10.0.0.2 rtt 312 us, reordering 5`.
fn text(entry: &PeerMetrics) -> String {
    let values = [
        ("rtt", entry.rtt_us, " us"),
        ("ssthresh", entry.ssthresh, ""),
        ("cwnd", entry.cwnd, ""),
        ("reordering", entry.reordering, ""),
    ];
    let known = values.iter().filter_map(|(name, value, unit)| Some(format!("{name} {}{unit}", (*value)?)));
    format!("{} {}", entry.address, known.collect::<Vec<_>>().join(", ")).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_remembered_before_is_told_and_is_not_ours() {
        let [old, new] = [IpAddr::from([10, 0, 0, 2]), IpAddr::from([10, 0, 0, 3])];
        let entry = PeerMetrics { address: old, rtt_us: Some(312), ssthresh: None, cwnd: None, reordering: Some(5) };
        let metrics = CachedMetrics::default();
        let met = metrics.met(Some(&[entry]), &BTreeSet::from([old, new]));
        assert_eq!((met.asked, met.actual.as_deref()), (None, Some("10.0.0.2 rtt 312 us, reordering 5")));
        assert_eq!(*metrics.ours(), BTreeSet::from([new]));
        assert_eq!(metrics.met(Some(&[]), &BTreeSet::from([new])).actual.as_deref(), Some("none"));
        assert_eq!(metrics.met(None, &BTreeSet::new()).actual, None);
    }
}
