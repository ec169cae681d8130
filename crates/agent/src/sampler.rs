//! All counters of this endpoint, read at the same time.

use std::rc::Rc;

use bitcost_model::record::{Counts, PartSample, Sample, ThreadKind};
use bitcost_probe::softirq_timer::SoftirqTimer;
use bitcost_probe::{Between, Detail, Every, Looks, PROBES, Probe, Socket, Source, Target, Thread};
use bitcost_sys::clock::monotonic_ns;

use crate::events::Started;
use crate::profile::Profiler;

/// Number of flows above which context switches and sockets are read only at the edges of the
/// window, and no thread's state: a reading takes 2 to 4 µs for each, which for a thousand flows is
/// several per cent of a CPU.
const MANY: usize = 64;

pub struct Sampler {
    sources: Vec<(Every, Source)>,
    is_many: bool,
    pub looks: Looks,
    pub profiler: Option<Profiler>,
}

impl Sampler {
    /// Opens the counters of the machine, of the calling thread, of the traffic threads, of the kernel threads that handle what `device` received, of each
    /// part's sockets, of the nodes between the endpoints, and of soft interrupts, which are timed
    /// until the sampler is dropped.
    pub fn open(
        device: &str,
        traffic: &[Started],
        sockets: Vec<Vec<Socket>>,
        between: &Between,
        softirqs: Option<SoftirqTimer>,
    ) -> Sampler {
        let of = |kind| {
            move |(part, id): (usize, u32)| Thread {
                kind,
                part,
                id,
                process: None,
            }
        };
        let id = |of: &Started| (of.part, of.thread_id.cast_unsigned());
        let traffic_threads = traffic.iter().map(id);
        let monitor = (0, bitcost_sys::thread::thread_id().cast_unsigned());
        let napi = crate::describe::napi_threads(device).unwrap_or_default();
        let threads = traffic_threads.map(of(ThreadKind::Traffic));
        let threads = threads.chain([of(ThreadKind::Monitor)(monitor)]);
        let threads = threads.chain(napi.into_iter().map(|id| of(ThreadKind::Napi)((0, id))));
        let flows: usize = sockets.iter().map(Vec::len).sum();
        let target = Target {
            threads: threads.collect(),
            softirqs: softirqs.map(Rc::new),
            ..target(device, sockets, between)
        };
        let is_many = traffic.len().max(flows) >= MANY;
        let looked_at = target.threads.iter().take(traffic.len());
        Sampler {
            is_many,
            looks: Looks::open(looked_at.filter(|_| !is_many)),
            ..Sampler::of(&target, |_| true)
        }
    }

    /// Opens the counters of the machine, and those of some threads of another program.
    pub fn of_program(device: &str, process: u32, threads: &[u32]) -> Sampler {
        let thread = |id: &u32| Thread {
            kind: ThreadKind::Traffic,
            part: 0,
            id: *id,
            process: Some(process),
        };
        let target = Target {
            threads: threads.iter().map(thread).collect(),
            process: Some(process),
            ..target(device, Vec::new(), &Between::default())
        };
        Sampler {
            looks: Looks::open(target.threads.iter()),
            ..Sampler::of(&target, |_| true)
        }
    }

    /// Opens only the counters of what became of packets, without those of threads and CPUs.
    pub fn of_packets(device: &str, sockets: Vec<Vec<Socket>>, between: &Between) -> Sampler {
        Sampler::of(&target(device, sockets, between), |probe| {
            probe.is_of_packets
        })
    }

    /// Opens the counters of these probes.
    fn of(target: &Target, is_read: fn(&Probe) -> bool) -> Sampler {
        let probes = PROBES.iter().filter(|probe| is_read(probe));
        let open = |probe: &Probe| Some((probe.every, (probe.open)(target)?));
        Sampler {
            sources: probes.filter_map(open).collect(),
            is_many: false,
            looks: Looks::default(),
            profiler: None,
        }
    }

    /// Reads every counter, at an edge of the window; `counts` are those of each part.
    pub fn read(&mut self, counts: Vec<Counts>) -> Sample {
        let mut sample = counted(counts);
        for (_, source) in &mut self.sources {
            source(&mut sample, Detail::Flows);
        }
        self.looks.write(&mut sample);
        sample
    }

    pub fn read_between(&mut self, counts: Vec<Counts>) -> Sample {
        if let Some(profiler) = &mut self.profiler {
            profiler.count();
        }
        let mut sample = counted(counts);
        let detail = match self.is_many {
            true => Detail::Sums,
            false => Detail::Flows,
        };
        let sources = self.sources.iter_mut();
        for (_, source) in sources.filter(|(every, _)| *every == Every::Reading) {
            source(&mut sample, detail);
        }
        self.looks.write(&mut sample);
        sample
    }
}

fn target(device: &str, sockets: Vec<Vec<Socket>>, between: &Between) -> Target {
    Target {
        device: device.to_owned(),
        threads: Vec::new(),
        sockets: Rc::from(sockets),
        between: between.clone(),
        softirqs: None,
        process: None,
    }
}

/// A sample with the counts of the traffic's loops only.
fn counted(counts: Vec<Counts>) -> Sample {
    let mut parts = counts.into_iter().map(|counts| PartSample {
        counts,
        ..PartSample::default()
    });
    let first = parts.next().unwrap_or_default();
    Sample {
        at_ns: monotonic_ns(),
        counts: first.counts,
        background: parts.collect(),
        ..Sample::default()
    }
}
