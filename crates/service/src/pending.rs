//! Connections that have not yet proved who they are: a bounded number in all, and of each address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most connections without a proof.
pub const PENDING_MAX: usize = 64;

/// Most of them from one address, or one network of IPv6.
pub const PENDING_OF_ADDRESS_MAX: usize = 16;

/// The connections without a proof.
#[derive(Default)]
pub struct Pending {
    counts: Mutex<HashMap<IpAddr, usize>>,
}

/// One of them, until this is dropped.
pub struct Admitted {
    pending: Arc<Pending>,
    from: IpAddr,
}

impl Pending {
    fn counts(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection; absent where there are too many.
    pub fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Admitted> {
        let from = network(peer);
        let mut counts = self.counts();
        if counts.values().sum::<usize>() >= PENDING_MAX {
            return None;
        }
        let count = counts.entry(from).or_default();
        if *count >= PENDING_OF_ADDRESS_MAX {
            return None;
        }
        *count += 1;
        Some(Admitted {
            pending: self.clone(),
            from,
        })
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut counts = self.pending.counts();
        if let Some(count) = counts.get_mut(&self.from) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.from);
            }
        }
    }
}

/// An address of IPv4, or the network of 64 bits of one of IPv6: a host may have all of its
/// addresses (RFC 4291, section 2.5.4).
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            IpAddr::from((u128::from(address) & !u128::from(u64::MAX)).to_be_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_has_not_all_places() {
        let pending: Arc<Pending> = Arc::default();
        let of = |host: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, host]);
        let held: Vec<Admitted> = (0..PENDING_OF_ADDRESS_MAX as u16)
            .map(|host| pending.admit(of(host)).expect("a place"))
            .collect();
        assert!(pending.admit(of(99)).is_none());
        let others: Vec<Option<Admitted>> = (0..100)
            .map(|host| pending.admit(IpAddr::from([192, 0, 2, host])))
            .collect();
        let admitted = others.iter().flatten().count();
        assert_eq!(admitted, PENDING_MAX - PENDING_OF_ADDRESS_MAX);
        drop(held);
        assert!(pending.admit(of(99)).is_some());
    }
}
