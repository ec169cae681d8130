//! The decision of a receiver that nothing more comes from a sender that has ended.

use crate::control::Control;
use crate::datagrams::QUIET;

/// Detects that nothing more comes after the sender has ended.
#[derive(Default)]
pub struct Silence {
    came: u64,
    since_ns: Option<u64>,
}

impl Silence {
    /// True where the sender has ended and `came` has not grown for [`QUIET`].
    pub fn lasts(&mut self, control: &Control, came: u64, now_ns: u64) -> bool {
        if control.expected_messages().is_none() {
            return false;
        }
        if came != self.came || self.since_ns.is_none() {
            (self.came, self.since_ns) = (came, Some(now_ns));
        }
        self.since_ns
            .is_some_and(|since_ns| now_ns.saturating_sub(since_ns) >= QUIET.as_nanos() as u64)
    }
}
