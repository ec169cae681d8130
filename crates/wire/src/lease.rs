//! The lease: an agent that hears nothing from its controller for a while stops by itself.

use std::time::Duration;

/// A right to go on that must be renewed. Times are nanoseconds of the holder's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    length: Duration,
    ends_ns: u64,
}

impl Lease {
    /// How long an agent goes on without a word from its controller.
    pub const LENGTH: Duration = Duration::from_secs(5);

    /// How often a controller renews it.
    pub const RENEWAL: Duration = Duration::from_secs(1);

    /// A lease that begins now.
    pub fn new(length: Duration, now_ns: u64) -> Lease {
        Lease { length, ends_ns: now_ns + length.as_nanos() as u64 }
    }

    /// Any word from the controller renews it.
    pub fn renew(&mut self, now_ns: u64) {
        self.ends_ns = now_ns + self.length.as_nanos() as u64;
    }

    /// The time left; none when it is lost.
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
