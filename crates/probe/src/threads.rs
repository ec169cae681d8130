//! Times and context switches of the run's threads, and the CPU time of this process.
//!
//! `schedstat` of a running thread is as old as its last tick; the CPU clock of a thread of this
//! process is exact.

use std::path::PathBuf;

use bitcost_model::record::{Sample, ThreadKind, ThreadTime};

use crate::schedstat::ThreadProbe;
use crate::source::{Detail, Source, Target, Thread};
use crate::switches::SwitchProbe;

struct Threads {
    own: Vec<Own>,
    kernel: Vec<ThreadProbe>,
    buffer: Vec<u8>,
}

/// One thread of this program.
struct Own {
    part: u32,
    id: i32,
    time: ThreadProbe,
    switches: SwitchProbe,
}

/// Opens the counters of the target's threads.
pub fn open(target: &Target) -> Option<Box<dyn Source>> {
    let (kernel, own): (Vec<&Thread>, Vec<&Thread>) = target
        .threads
        .iter()
        .partition(|thread| thread.kind == ThreadKind::Napi);
    let path = |thread: &Thread, file: &str| {
        let number = number_in_proc(thread.id).unwrap_or(thread.id);
        PathBuf::from(format!("/proc/self/task/{number}/{file}"))
    };
    let own = own.into_iter().map(|thread| Own {
        part: thread.part as u32,
        id: thread.id.cast_signed(),
        time: ThreadProbe::open(thread.kind, &path(thread, "schedstat")),
        switches: SwitchProbe::open(&path(thread, "status")),
    });
    let kernel = kernel.into_iter().map(|thread| {
        let path = PathBuf::from(format!("/proc/{}/schedstat", thread.id));
        ThreadProbe::open(thread.kind, &path)
    });
    Some(Box::new(Threads {
        own: own.collect(),
        kernel: kernel.collect(),
        buffer: Vec::new(),
    }))
}

/// The number in `/proc` of the thread of this process that system calls know by `id`. It is another one where `/proc` belongs to
/// an outer PID namespace, as in a node of a running lab; absent: unknown.
fn number_in_proc(id: u32) -> Option<u32> {
    if bitcost_sys::process::id_in_proc().ok()? == std::process::id() {
        return Some(id);
    }
    let numbers = std::fs::read_dir("/proc/self/task").ok()?;
    let mut numbers = numbers.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.find(|number: &u32| innermost(*number) == Some(id))
}

/// The number of a thread of this process in its innermost PID namespace (proc_pid_status(5), NSpid).
fn innermost(number: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/self/task/{number}/status")).ok()?;
    let numbers = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().last()?.parse().ok()
}

impl Source for Threads {
    fn read(&mut self, sample: &mut Sample, detail: Detail) {
        let Threads {
            own,
            kernel,
            buffer,
        } = self;
        sample.threads = own
            .iter()
            .filter_map(|own| own.read(detail, buffer))
            .collect();
        sample
            .threads
            .extend(kernel.iter().filter_map(ThreadProbe::read));
        sample.process_ns = Some(bitcost_sys::clock::process_cpu_ns());
    }
}

impl Own {
    fn read(&self, detail: Detail, buffer: &mut Vec<u8>) -> Option<ThreadTime> {
        let time = self.time.read()?;
        let run_ns = bitcost_sys::thread::cpu_time_ns(self.id).ok()?;
        let switches = if detail == Detail::Flows {
            self.switches.read(buffer)
        } else {
            None
        };
        Some(ThreadTime {
            part: self.part,
            run_ns,
            switches,
            ..time
        })
    }
}
