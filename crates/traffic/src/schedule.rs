//! The intended times of an open loop.

use crate::control::Control;
use crate::pacing::{begin, sleep, spin};

/// The time before an intended time in which a wait spins instead of sleeping, because a sleep may
/// end late.
const SPIN_NS: u64 = 50_000;

const SECOND_NS: u64 = 1_000_000_000;

/// Intended times at a fixed rate, counted from the first; delays between them do not change them.
pub struct Schedule {
    rate: u64,
    begin_ns: Option<u64>,
    number: u64,
}

impl Schedule {
    /// A schedule of `rate` times per second, which starts with the first wait.
    pub fn new(rate: u32) -> Schedule {
        Schedule {
            rate: rate.max(1).into(),
            begin_ns: None,
            number: 0,
        }
    }

    /// Waits for the next intended time and returns it; at once when it has passed. Absent when the
    /// run is over before.
    pub fn next(&mut self, control: &Control) -> Option<u64> {
        let begin_ns = *self.begin_ns.get_or_insert_with(begin);
        let intended_ns = begin_ns + self.number * SECOND_NS / self.rate;
        self.number += 1;
        sleep(intended_ns.saturating_sub(SPIN_NS), control);
        spin(intended_ns, control).then_some(intended_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Phase;

    #[test]
    fn schedule_does_not_wait_once_the_run_is_over() {
        let control = Control::default();
        let mut schedule = Schedule::new(1);
        assert!(schedule.next(&control).is_some());
        control.enter(Phase::Over);
        assert_eq!(schedule.next(&control), None);
    }
}
