//! The intended times of an open loop.

use std::num::NonZeroU64;

use bitcost_sys::clock::{monotonic_ns, sleep_until};

use crate::control::{Control, Phase};

/// The time before an intended time in which a wait spins instead of sleeping, because a sleep may
/// end late.
const SPIN_NS: u64 = 50_000;

/// The interval at which a sleep is interrupted to check whether the run is over.
const LOOK_NS: u64 = 100_000_000;

const SECOND_NS: u64 = 1_000_000_000;

/// Intended times at a fixed rate, counted from the first; delays between them do not change them.
pub struct Schedule {
    rate: u64,
    begin_ns: u64,
    number: u64,
}

impl Schedule {
    /// A schedule of `rate` times per second, which starts with the first wait.
    pub fn new(rate: u32) -> Schedule {
        Schedule {
            rate: rate.max(1).into(),
            begin_ns: 0,
            number: 0,
        }
    }

    /// Waits for the next intended time and returns it; at once when it has passed. Absent when the
    /// run is over before.
    pub fn next(&mut self, control: &Control) -> Option<u64> {
        if self.number == 0 {
            // A sleep ends late by the timer slack, 50 µs by default (prctl(2)). Where reducing it
            // fails, the first transaction after a sleep is late.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
            self.begin_ns = monotonic_ns();
        }
        let intended_ns = self.begin_ns + self.number * SECOND_NS / self.rate;
        self.number += 1;
        loop {
            let now_ns = monotonic_ns();
            if now_ns >= intended_ns {
                return Some(intended_ns);
            }
            if control.phase() as u8 >= Phase::Over as u8 {
                return None;
            }
            if intended_ns - now_ns > SPIN_NS {
                sleep_until((intended_ns - SPIN_NS).min(now_ns + LOOK_NS));
                control.count_sleep(monotonic_ns() - now_ns);
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intended_times_do_not_depend_on_delays() {
        let control = Control::default();
        let mut schedule = Schedule::new(1000);
        let first = schedule.next(&control).expect("a time");
        std::thread::sleep(std::time::Duration::from_millis(5));
        let late: Vec<u64> = (0..5).filter_map(|_| schedule.next(&control)).collect();
        assert_eq!(
            late,
            (1..=5)
                .map(|number| first + number * 1_000_000)
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn schedule_does_not_wait_once_the_run_is_over() {
        let control = Control::default();
        let mut schedule = Schedule::new(1);
        assert!(schedule.next(&control).is_some());
        control.enter(Phase::Over);
        assert_eq!(schedule.next(&control), None);
    }
}
