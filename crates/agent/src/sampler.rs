//! All counters of this end, read at one time.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use model::record::{Counts, PartSample, Sample, TcpInfo, ThreadKind, ThreadTime};
use probe::cpu::CpuProbe;
use probe::schedstat::ThreadProbe;
use probe::switches::SwitchProbe;
use sys::clock::monotonic_ns;

/// With more flows than this, context switches and connections are read at the window's edges alone: a reading takes
/// 2 to 4 µs for each, and those of a thousand flows would take several per cent of a CPU.
const MANY: usize = 64;

/// The open counters of one run.
pub struct Sampler {
    cpus: CpuProbe,
    own: Vec<Own>,
    napi: Vec<ThreadProbe>,
    /// Of each part.
    connections: Vec<Vec<OwnedFd>>,
    buffer: Vec<u8>,
}

/// One thread of this program.
struct Own {
    part: u32,
    id: i32,
    time: ThreadProbe,
    switches: SwitchProbe,
}

impl Sampler {
    /// Opens the counters of the machine, of the calling thread, of the traffic's threads with the parts that
    /// they belong to, of the kernel threads that handle what `device` received, and of each part's TCP connections.
    pub fn open(device: &str, traffic: &[(usize, i32)], connections: Vec<Vec<OwnedFd>>) -> Sampler {
        let monitor = (ThreadKind::Monitor, 0, sys::thread::thread_id());
        let own = traffic.iter().map(|(part, id)| (ThreadKind::Traffic, *part, *id)).chain([monitor]);
        let own = own.map(|(kind, part, id)| Own {
            part: part as u32,
            id,
            time: probe(kind, &format!("self/task/{id}")),
            switches: SwitchProbe::open(&PathBuf::from(format!("/proc/self/task/{id}/status"))),
        });
        let napi = crate::describe::napi_threads(device).unwrap_or_default();
        Sampler {
            cpus: CpuProbe::open(),
            own: own.collect(),
            napi: napi.iter().map(|pid| probe(ThreadKind::Napi, &pid.to_string())).collect(),
            connections,
            buffer: Vec::new(),
        }
    }

    /// Reads everything, at an edge of the window; `counts` are those of each part.
    pub fn read(&mut self, counts: Vec<Counts>) -> Sample {
        self.sample(counts, true)
    }

    /// Reads between the window's edges, where many flows are looked at in less detail.
    pub fn read_between(&mut self, counts: Vec<Counts>) -> Sample {
        let connections: usize = self.connections.iter().map(Vec::len).sum();
        self.sample(counts, self.own.len().max(connections) <= MANY)
    }

    fn sample(&mut self, counts: Vec<Counts>, in_detail: bool) -> Sample {
        let at_ns = monotonic_ns();
        let Sampler { cpus, own, napi, connections, buffer } = self;
        let own = own.iter().filter_map(|own| own.read(in_detail.then_some(&mut *buffer)));
        let threads = own.chain(napi.iter().filter_map(ThreadProbe::read)).collect();
        let part = |(counts, connections): (Counts, &Vec<OwnedFd>)| PartSample {
            counts,
            tcp_info: if in_detail { together(connections) } else { None },
        };
        let mut parts = counts.into_iter().zip(connections.iter()).map(part);
        let first = parts.next().unwrap_or_default();
        let beside = parts.collect();
        Sample { at_ns, counts: first.counts, cpus: cpus.read(), threads, tcp_info: first.tcp_info, beside }
    }
}

impl Own {
    /// `schedstat` of a running thread is as old as its last tick; the thread's own clock is not.
    fn read(&self, buffer: Option<&mut Vec<u8>>) -> Option<ThreadTime> {
        let time = self.time.read()?;
        let run_ns = sys::thread::cpu_time_ns(self.id).ok()?;
        let part = self.part;
        Some(ThreadTime { part, run_ns, switches: buffer.and_then(|buffer| self.switches.read(buffer)), ..time })
    }
}

/// All connections as one; absent where there is none or one cannot be read.
fn together(connections: &[OwnedFd]) -> Option<TcpInfo> {
    let (first, rest) = connections.split_first()?;
    rest.iter().try_fold(traffic::tcp_info(first)?, |sum, next| Some(sum.plus(&traffic::tcp_info(next)?)))
}

fn probe(kind: ThreadKind, task: &str) -> ThreadProbe {
    ThreadProbe::open(kind, &PathBuf::from(format!("/proc/{task}/schedstat")))
}
