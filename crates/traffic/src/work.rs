//! CPU time that the program works on a message, as an application does between its calls.
//!
//! The work is steps of a few multiplications and a read of the clock, until the clock says that it
//! took the requested time. So it takes this time however fast the machine is at the moment. A step
//! that takes much longer than the fastest was interrupted, by an interrupt, another thread or the
//! hypervisor, whose time is not work: it counts as the fastest.

use std::hint::black_box;

use bitcost_model::conditions::Conditions;
use bitcost_sys::clock::monotonic_ns;

/// Batches of the calibration, of which the fastest counts: a disturbance only makes one longer.
const BATCHES: u32 = 50;

/// Clock reads, and multiplications, of one batch: some microseconds, so that many batches fit
/// between the interruptions of a busy host.
const READS: u32 = 200;
const MULTIPLICATIONS: u32 = 5000;

/// The multiplications of a step take as long as this number of clock reads, so that most of the
/// work is no system call where the clock is one.
const CHAIN_READS: u64 = 4;

/// A step that takes over this many times the fastest was interrupted. The machine's speed alone
/// varies by less.
const INTERRUPTED: u64 = 4;

/// Work on messages. What is worked too much or too little on one is carried over to the next.
#[derive(Debug)]
pub struct Work {
    message_ns: u64,
    step: Step,
    /// Time that is left to work; below 0 what was worked too much.
    owed_ns: i64,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    multiplications: u32,
    read_ns: u64,
}

impl Work {
    /// The work of `work_ns` on each message, calibrated on the CPU that calls this; absent where it
    /// is 0.
    pub fn of(work_ns: u32) -> Option<Work> {
        (work_ns > 0).then(|| Work::in_steps(work_ns, Step::calibrated()))
    }

    /// The work of a sender that does not pace itself, before each message. One that does works
    /// while it waits (`crate::pacing`).
    pub fn of_unpaced_sender(conditions: &Conditions) -> Option<Work> {
        match conditions.paced_messages_per_second(None) {
            Some(_) => None,
            None => Work::of(conditions.buffers.send_work_ns),
        }
    }

    fn in_steps(work_ns: u32, step: Step) -> Work {
        Work {
            message_ns: work_ns.into(),
            step,
            owed_ns: 0,
        }
    }

    pub fn time_ns(&self, messages: u64) -> u64 {
        self.message_ns.saturating_mul(messages)
    }

    #[inline]
    pub fn on_messages(&mut self, messages: u64) {
        self.on_messages_by(monotonic_ns, messages);
    }

    /// Works by this clock. Of its first and last read, the parts before and after the time that
    /// they return make one read that no step contains.
    fn on_messages_by(&mut self, mut clock_ns: impl FnMut() -> u64, messages: u64) {
        self.owed_ns = self.owed_ns.saturating_add_unsigned(self.time_ns(messages));
        if self.owed_ns <= 0 {
            return;
        }
        self.owed_ns -= signed(self.step.read_ns);
        let mut begin_ns = clock_ns();
        while self.owed_ns > 0 {
            multiply(self.step.multiplications);
            let end_ns = clock_ns();
            self.owed_ns -= signed(self.step.counted_ns(end_ns.saturating_sub(begin_ns)));
            begin_ns = end_ns;
        }
    }
}

impl Step {
    fn calibrated() -> Step {
        let read_ns = fastest_ns(|| {
            for _ in 0..READS {
                black_box(monotonic_ns());
            }
        });
        let chain_ns = fastest_ns(|| multiply(MULTIPLICATIONS));
        let read_ns = (read_ns / u64::from(READS)).max(1);
        let count = CHAIN_READS * read_ns * u64::from(MULTIPLICATIONS) / chain_ns;
        Step {
            multiplications: u32::try_from(count).unwrap_or(u32::MAX).max(1),
            read_ns,
        }
    }

    fn counted_ns(self, took_ns: u64) -> u64 {
        let fastest_ns = (CHAIN_READS + 1) * self.read_ns;
        if took_ns > INTERRUPTED * fastest_ns {
            fastest_ns
        } else {
            took_ns
        }
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// The time of the fastest of some batches; not 0.
fn fastest_ns(batch: impl Fn()) -> u64 {
    let took_ns = |_| {
        let begin_ns = monotonic_ns();
        batch();
        monotonic_ns().saturating_sub(begin_ns)
    };
    (0..BATCHES).map(took_ns).min().map_or(1, |ns| ns.max(1))
}

/// A chain of multiplications, each of which waits for the one before it: it touches no memory.
#[inline(never)]
fn multiply(times: u32) {
    let mut value = black_box(u64::from(times) | 1);
    for _ in 0..times {
        value = black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
    black_box(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that takes 100 ns at the machine's fastest.
    const STEP: Step = Step {
        multiplications: 1,
        read_ns: 20,
    };

    /// Works on `messages` messages in a row, by a clock that shows each of its steps, in turn, as
    /// this long; returns the time of all steps and their number.
    fn worked(work_ns: u32, messages: u32, steps_ns: &[u64]) -> (u64, u64) {
        let mut work = Work::in_steps(work_ns, STEP);
        let (mut now_ns, mut steps, mut worked_ns) = (0, 0, 0);
        for _ in 0..messages {
            let mut is_first = true;
            work.on_messages_by(
                || {
                    if !std::mem::take(&mut is_first) {
                        let took_ns = steps_ns[steps % steps_ns.len()];
                        (steps, worked_ns) = (steps + 1, worked_ns + took_ns);
                        now_ns += took_ns;
                    }
                    now_ns
                },
                1,
            );
        }
        (worked_ns, steps as u64)
    }

    #[test]
    fn what_is_worked_too_much_is_carried_over() {
        // With the clock reads before the first steps; the machine is at 1, 1.3 and 3 times its
        // fastest.
        for step_ns in [100, 130, 300] {
            let (worked_ns, _) = worked(2000, 1000, &[step_ns]);
            let asked_ns = 1000 * (2000 - STEP.read_ns);
            assert!(
                (asked_ns..asked_ns + step_ns).contains(&worked_ns),
                "steps of {step_ns} ns: {worked_ns} ns"
            );
        }
    }

    #[test]
    fn an_interruption_is_no_work() {
        let steps_ns = [110, 110, 22_000, 110];
        let (worked_ns, steps) = worked(2000, 1000, &steps_ns);
        let interrupted = (steps + 1) / 4;
        let without_ns = worked_ns - interrupted * (22_000 - 100);
        let asked_ns = 1000 * (2000 - STEP.read_ns);
        assert!(
            without_ns.abs_diff(asked_ns) <= 110,
            "{without_ns} of {asked_ns} ns"
        );
    }

    #[test]
    fn work_that_is_shorter_than_a_step_is_done_on_some_messages() {
        let (worked_ns, steps) = worked(30, 1000, &[100]);
        assert_eq!(worked_ns, 100 * steps);
        let with_reads_ns = steps * (100 + STEP.read_ns);
        assert!(
            with_reads_ns.abs_diff(30_000) <= 120,
            "{steps} steps, {with_reads_ns} ns"
        );
    }

    #[test]
    fn no_work_is_absent() {
        assert!(Work::of(0).is_none());
        let step = Work::of(1).expect("work").step;
        assert!(step.multiplications > 0 && step.read_ns > 0, "{step:?}");
    }
}
