//! A timer interrupt: the pause that it makes in a thread which does nothing but read the clock.

use std::time::Duration;

use bitcost_model::constants::ConstantFigure;
use bitcost_sys::clock::monotonic_ns;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::spread;

/// From the setting of the timer to its expiry, in ns.
const LEAD_NS: u64 = 25_000;

/// The time after the expiry in which its interrupt must come, in ns.
const LATE_NS: u64 = 15_000;

/// Sets a timer again and again and finds the longest pause between two clock reads around its
/// expiry, less the time of a clock read.
///
/// # Errors
/// A sentence, where there is no such timer, or where it expires later.
pub(super) fn interrupt(length: Duration) -> Result<ConstantFigure, String> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)
        .map_err(|error| format!("create a timer: {error}"))?;
    let mut samples = Vec::with_capacity(4096);
    let end_ns = monotonic_ns() + length.as_nanos() as u64;
    let mut tried = 0u32;
    while monotonic_ns() < end_ns {
        let at_ns = monotonic_ns() + LEAD_NS;
        let once = Itimerspec {
            it_interval: time(0),
            it_value: time(at_ns),
        };
        timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &once)
            .map_err(|error| format!("set a timer: {error}"))?;
        tried += 1;
        let pause = longest_pause(at_ns);
        let mut expirations = [0; 8];
        if rustix::io::read(&timer, &mut expirations).is_ok() {
            samples.extend(pause);
        }
    }
    if samples.len() < tried as usize / 2 {
        return Err(format!(
            "{} of {tried} timers expired within {} µs of their time: the kernel has no precise timers, or the machine is busy",
            samples.len(),
            LATE_NS / 1000
        ));
    }
    spread::figure(samples)
}

fn time(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    }
}

/// The longest step between two clock reads of which the second is after the expiry, less the
/// shortest step.
fn longest_pause(at_ns: u64) -> Option<f64> {
    let (mut shortest, mut longest) = (u64::MAX, 0);
    let mut before = monotonic_ns();
    while before < at_ns + LATE_NS {
        let now = monotonic_ns();
        let step = now - before;
        shortest = shortest.min(step);
        if now >= at_ns {
            longest = longest.max(step);
        }
        before = now;
    }
    (longest > shortest).then(|| (longest - shortest) as f64)
}
