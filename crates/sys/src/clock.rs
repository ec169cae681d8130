//! Clocks of the host, and sleeping until a time.

use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::{Timespec, clock_gettime};

#[inline]
fn ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The present time on `CLOCK_MONOTONIC`, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    ns(ClockId::Monotonic)
}

/// The present time on `CLOCK_REALTIME`, in nanoseconds.
pub fn realtime_ns() -> u64 {
    ns(ClockId::Realtime)
}

/// CPU time of the calling thread, in nanoseconds (`CLOCK_THREAD_CPUTIME_ID`).
pub fn thread_cpu_ns() -> u64 {
    ns(ClockId::ThreadCPUTime)
}

/// Sleeps until `CLOCK_MONOTONIC` reaches `at_ns`; returns at once when that has passed.
pub fn sleep_until(at_ns: u64) {
    let at = Timespec {
        tv_sec: (at_ns / 1_000_000_000) as i64,
        tv_nsec: (at_ns % 1_000_000_000) as i64,
    };
    while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(rustix::io::Errno::INTR) {}
}
