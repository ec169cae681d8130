//! The calling thread: its id, CPU affinity and CPU time.

use std::io;
use std::num::NonZeroU64;

use rustix::thread::{
    CpuSet, Pid, UnshareFlags, gettid, sched_getaffinity, sched_setaffinity, unshare_unsafe,
};

use crate::outcome::checked;

/// The thread's id, as `/proc/self/task` lists it when `/proc` is of the caller's PID namespace.
pub fn thread_id() -> i32 {
    gettid().as_raw_nonzero().get()
}

/// Pins the calling thread to these CPUs and reads back its affinity.
///
/// # Errors
/// The error of the system call, such as `EINVAL` for CPUs that do not exist or are not allowed.
pub fn pin_to(cpus: &[u32]) -> io::Result<Vec<u32>> {
    sched_setaffinity(None, &cpu_set(cpus)?)?;
    allowed_cpus()
}

/// Pins any thread, also one of the kernel, to these CPUs and reads back its affinity.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE` over the thread, `ESRCH` where there is none, `EINVAL` for CPUs
/// that do not exist.
pub fn pin_thread_to(thread_id: u32, cpus: &[u32]) -> io::Result<Vec<u32>> {
    let thread = Pid::from_raw(thread_id.cast_signed()).ok_or(io::ErrorKind::InvalidInput)?;
    sched_setaffinity(Some(thread), &cpu_set(cpus)?)?;
    cpus_of(Some(thread))
}

/// The CPUs that any thread may run on.
///
/// # Errors
/// `ESRCH` where there is no such thread.
pub fn cpus_of_thread(thread_id: u32) -> io::Result<Vec<u32>> {
    let thread = Pid::from_raw(thread_id.cast_signed()).ok_or(io::ErrorKind::InvalidInput)?;
    cpus_of(Some(thread))
}

fn cpu_set(cpus: &[u32]) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        if *cpu as usize >= CpuSet::MAX_CPU {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        set.set(*cpu as usize);
    }
    Ok(set)
}

fn cpus_of(thread: Option<Pid>) -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(thread)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .map(|cpu| cpu as u32)
        .collect())
}

/// The CPUs that the calling thread may run on.
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    cpus_of(None)
}

/// Gives the calling thread a separate table of file descriptors (unshare(2), `CLONE_FILES`), a copy of the process's.
///
/// While a table has only one user, a system call finds its file without counting references (`fdget` in fs/file.c), as in
/// a program with one thread. Files that the thread opens afterwards are not visible to other threads, nor theirs to it.
pub fn unshare_files() -> io::Result<()> {
    // SAFETY: the caller's descriptors stay valid under the same numbers in both tables, so no owned
    // descriptor of any thread changes its meaning; a descriptor that the thread opens from now on must be
    // closed by it, which callers ensure.
    unsafe { unshare_unsafe(UnshareFlags::FILES) }?;
    Ok(())
}

/// Makes the calling thread's sleeps end at their time instead of up to 50 µs later (prctl(2), `PR_SET_TIMERSLACK`).
pub fn minimize_timer_slack() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
}

/// CPU time of a thread of this process, in nanoseconds, up to now (clock_getcpuclockid(3)).
///
/// # Errors
/// The error of the system call, such as `EINVAL` when there is no such thread.
pub fn cpu_time_ns(thread_id: i32) -> io::Result<u64> {
    // The kernel numbers a thread's CPU clock by its inverted id; 6 is per thread, scheduler's time.
    let clock: libc::clockid_t = (!thread_id << 3) | 6;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec that outlives the call; a bad clock number is an error.
    checked(unsafe { libc::clock_gettime(clock, &mut time) })?;
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// CPU time of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// In user mode, in nanoseconds.
    pub user_ns: u64,
    /// In the kernel on behalf of the thread, in nanoseconds.
    pub kernel_ns: u64,
}

/// CPU time of the calling thread so far (getrusage(2), `RUSAGE_THREAD`).
pub fn cpu_times() -> CpuTimes {
    // SAFETY: `rusage` is integers only, so zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a `rusage`, which outlives the call; it fails only for other arguments.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    CpuTimes {
        user_ns: ns(usage.ru_utime),
        kernel_ns: ns(usage.ru_stime),
    }
}
