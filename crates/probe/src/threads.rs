//! Times and context switches of the run's threads:
//! `/proc/PID/task/TID/schedstat` (kernel doc: scheduler/sched-stats) and `status` (proc(5)).
//!
//! The kernel brings a running thread's time in `schedstat` up to date at each tick and switch, so a reading from another
//! CPU may be up to one tick old; the CPU clock of a thread of this process and its switches are exact.

use bitcost_model::record::{Switches, ThreadKind, ThreadTime};

use crate::read::{Kept, innermost_id, number, numbers};
use crate::source::{Detail, Source, Target, Thread, source};

struct Open {
    kind: ThreadKind,
    part: u32,
    /// Its thread id, if it is one of this process.
    own_id: Option<i32>,
    time: Option<Kept>,
    switches: Option<Kept>,
}

pub fn open(target: &Target) -> Option<Source> {
    let mut threads: Vec<Open> = target.threads.iter().map(Open::of).collect();
    // Kernel threads last, as records have them.
    threads.sort_by_key(|thread| thread.kind == ThreadKind::Napi);
    source(move |sample, detail| {
        let read = threads.iter_mut().filter_map(|thread| thread.read(detail));
        sample.threads = read.collect();
    })
}

impl Open {
    fn of(thread: &Thread) -> Open {
        let is_of_kernel = thread.kind == ThreadKind::Napi;
        let folder = folder(thread);
        let open = |file: &str| Kept::open(format!("{folder}/{file}"));
        Open {
            kind: thread.kind,
            part: thread.part as u32,
            own_id: (!is_of_kernel && thread.process.is_none()).then(|| thread.id.cast_signed()),
            time: open("schedstat"),
            switches: open("status").filter(|_| !is_of_kernel),
        }
    }

    /// Absent if it cannot be read, or once the thread is gone.
    fn read(&mut self, detail: Detail) -> Option<ThreadTime> {
        let time = parse_time(self.kind, self.time.as_mut()?.lines()?)?;
        let exact_ns = self
            .own_id
            .map(bitcost_sys::thread::cpu_time_ns)
            .transpose();
        let status = self.switches.as_mut().filter(|_| detail == Detail::Flows);
        Some(ThreadTime {
            part: self.part,
            run_ns: exact_ns.ok()?.unwrap_or(time.run_ns),
            switches: status.and_then(|file| parse_switches(file.lines()?)),
            ..time
        })
    }
}

pub(crate) fn folder(thread: &Thread) -> String {
    if thread.kind == ThreadKind::Napi {
        return format!("/proc/{}", thread.id);
    }
    if let Some(process) = thread.process {
        return format!("/proc/{process}/task/{}", thread.id);
    }
    let number = number_in_proc(thread.id).unwrap_or(thread.id);
    format!("/proc/self/task/{number}")
}

/// The number in `/proc` of the thread of this process that system calls know by `id`. It is another one where `/proc` belongs to
/// an outer PID namespace, as in a node of a running lab; absent: unknown.
fn number_in_proc(id: u32) -> Option<u32> {
    if bitcost_sys::process::id_in_proc().ok()? == std::process::id() {
        return Some(id);
    }
    let mut numbers = numbers("/proc/self/task").into_iter();
    let status = |number| format!("/proc/self/task/{number}/status");
    numbers.find(|number| innermost_id(&status(*number)) == Some(id))
}

/// The three numbers of a `schedstat` file: run time and wait time in ns, slices.
///
/// Absent if they are not three numbers, or all 0, as a kernel without scheduler statistics prints.
pub fn parse_time(kind: ThreadKind, text: &str) -> Option<ThreadTime> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    let mut next = || numbers.next()?.ok();
    let time = ThreadTime {
        kind,
        part: 0,
        run_ns: next()?,
        wait_ns: next()?,
        slices: next()?,
        switches: None,
        states: None,
    };
    (time.run_ns > 0 || time.wait_ns > 0 || time.slices > 0).then_some(time)
}

/// The switches in a `status` file.
pub fn parse_switches(text: &str) -> Option<Switches> {
    Some(Switches {
        voluntary: number(text, "voluntary_ctxt_switches:")?,
        involuntary: number(text, "nonvoluntary_ctxt_switches:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_without_scheduler_statistics_has_no_time() {
        for text in ["0 0 0\n", "1 2\n", ""] {
            assert_eq!(parse_time(ThreadKind::Traffic, text), None);
        }
    }

    #[test]
    fn this_thread_runs_and_each_sleep_is_a_voluntary_switch() {
        let mut own = Open::of(&Thread {
            kind: ThreadKind::Traffic,
            part: 0,
            id: bitcost_sys::thread::thread_id().cast_unsigned(),
            process: None,
        });
        let mut read = || own.read(Detail::Flows);
        let Some(before) = read() else { return };
        (0..5).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
        let after = read().expect("it was there before");
        assert!(after.run_ns > before.run_ns && after.slices > before.slices);
        let [before, after] = [before, after].map(|time| time.switches.expect("its status"));
        assert!(
            after.voluntary >= before.voluntary + 5,
            "{before:?} {after:?}"
        );
    }
}
