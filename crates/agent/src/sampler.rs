//! All counters of this end, read at one time.

use std::path::PathBuf;

use model::record::{Counts, Sample, ThreadKind, ThreadTime};
use probe::cpu::CpuProbe;
use probe::schedstat::ThreadProbe;
use sys::clock::monotonic_ns;

/// The open counters of one run.
pub struct Sampler {
    cpus: CpuProbe,
    own: Vec<(i32, ThreadProbe)>,
    napi: Vec<ThreadProbe>,
}

impl Sampler {
    /// Opens the counters of the machine, of the calling thread, of the traffic's threads, and of the
    /// kernel threads that handle what `device` received.
    pub fn open(device: &str, traffic: &[i32]) -> Sampler {
        let monitor = (ThreadKind::Monitor, sys::thread::thread_id());
        let own = traffic.iter().map(|id| (ThreadKind::Traffic, *id)).chain([monitor]);
        let napi = crate::describe::napi_threads(device).unwrap_or_default();
        Sampler {
            cpus: CpuProbe::open(),
            own: own.map(|(kind, id)| (id, probe(kind, &format!("self/task/{id}")))).collect(),
            napi: napi.iter().map(|pid| probe(ThreadKind::Napi, &pid.to_string())).collect(),
        }
    }

    /// Reads everything.
    pub fn read(&mut self, counts: Counts) -> Sample {
        let at_ns = monotonic_ns();
        let own = self.own.iter().filter_map(|(id, probe)| up_to_now(*id, probe.read()?));
        let threads = own.chain(self.napi.iter().filter_map(ThreadProbe::read)).collect();
        Sample { at_ns, counts, cpus: self.cpus.read(), threads }
    }
}

fn probe(kind: ThreadKind, task: &str) -> ThreadProbe {
    ThreadProbe::open(kind, &PathBuf::from(format!("/proc/{task}/schedstat")))
}

/// `schedstat` of a running thread is as old as its last tick; the thread's own clock is not.
fn up_to_now(thread_id: i32, time: ThreadTime) -> Option<ThreadTime> {
    Some(ThreadTime { run_ns: sys::thread::cpu_time_ns(thread_id).ok()?, ..time })
}
