//! The lease: an agent that hears nothing from its controller for some time stops without being
//! asked.

use std::time::Duration;

/// A permission to continue that must be renewed. Times are nanoseconds of the agent's monotonic
/// clock.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    length: Duration,
    ends_ns: u64,
}

impl Lease {
    /// The time for which an agent continues without a message from its controller.
    pub const LENGTH: Duration = Duration::from_secs(5);

    /// The interval at which a controller renews it.
    pub const RENEWAL: Duration = Duration::from_secs(1);

    pub fn new(length: Duration, now_ns: u64) -> Lease {
        Lease {
            length,
            ends_ns: now_ns + length.as_nanos() as u64,
        }
    }

    /// Renews the lease; every message from the controller does this.
    pub fn renew(&mut self, now_ns: u64) {
        self.ends_ns = now_ns + self.length.as_nanos() as u64;
    }

    pub fn length(&self) -> Duration {
        self.length
    }

    /// The time left; `None` when the lease has expired.
    pub fn left(&self, now_ns: u64) -> Option<Duration> {
        (self.ends_ns > now_ns).then(|| Duration::from_nanos(self.ends_ns - now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_lost_unless_renewed() {
        let mut lease = Lease::new(Duration::from_secs(5), 0);
        assert_eq!(lease.left(4_000_000_000), Some(Duration::from_secs(1)));
        assert_eq!(lease.left(5_000_000_000), None);
        lease.renew(4_000_000_000);
        assert_eq!(lease.left(5_000_000_000), Some(Duration::from_secs(4)));
    }
}
