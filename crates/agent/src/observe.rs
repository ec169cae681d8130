//! One end of connections that another program holds, read as the end of a run is.

mod find;
mod sought;
mod watch;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use bitcost_model::counters::SocketMemory;
use bitcost_model::event::EndpointDescription;
use bitcost_model::machine::HostDescription;
use bitcost_model::record::{
    Counts, EndpointRecord, FlowRecord, InEffect, OffloadsInEffect, PhaseCounts, Program, Role,
    Sample, SocketSizes, TcpInfo,
};
use bitcost_probe::foreign::{Census, Own};
use bitcost_probe::programs;
use bitcost_probe::sockets::{memory_of, together};
use bitcost_sys::clock::{monotonic_ns, sleep_until};
use bitcost_sys::netlink::{SockDiag, SocketRecord};
use bitcost_sys::thread::cpus_of_thread;

use crate::describe;
use crate::refusal::Refusal;
use crate::sampler::Sampler;

use find::{moved, since};

pub use find::Held;
pub use sought::{End, Sought, enter_network_of};
pub use watch::Watcher;

/// The least time between two readings, and between two looks at a thread's state.
const INTERVAL_NS: u64 = 100_000_000;
const LOOK_NS: u64 = 20_000_000;

/// The most readings.
const READINGS: u64 = 1000;

/// Reads connections for this time, or until `is_over`.
///
/// # Errors
/// Where they ended before, or the kernel does not list them.
pub fn observe(
    held: &Held,
    time: Duration,
    is_over: &dyn Fn() -> bool,
) -> Result<(EndpointRecord, EndpointDescription), Refusal> {
    let mut diag = SockDiag::open().map_err(|error| error.to_string())?;
    let peer = held.sockets.first().map(|one| one.peer.ip());
    let peer = peer.filter(|peer| !peer.is_unspecified());
    let device = match peer {
        Some(peer) => describe::route(peer, "")?.device,
        None => "lo".to_owned(),
    };
    let described = describe::host(&device)?;
    let before = (Census::take(), held.calls());
    let mut sampler = Sampler::of_program(&device, held.process.unwrap_or(0), &held.threads);
    let mut read = held.read(&mut diag, &mut sampler, time, is_over);
    let after = (Census::take(), held.calls());
    let foreign = before.0.zip(after.0).map(|(before, now)| {
        let own = held.process.into_iter().chain([std::process::id()]);
        let own = Own::of(&now, own.collect(), Vec::new());
        now.since(&before, &own, bitcost_probe::cpu::ticks_per_second())
    });
    let calls = before.1.zip(after.1);
    let calls = calls.map(|(before, now)| since(now, before));
    let lasting = read.keep_lasting(held.role);
    if read.samples.is_empty() {
        return Err("the connections ended before they were read".into());
    }
    let record = EndpointRecord {
        foreign,
        ..held.record(&read, &lasting, calls, &described)
    };
    let host = EndpointDescription {
        role: held.role,
        place: "local".to_owned(),
        host: described,
    };
    Ok((record, host))
}

/// What was read at each time.
#[derive(Default)]
struct Read {
    samples: Vec<Sample>,
    /// Of each connection; absent once it has ended.
    sockets: Vec<Vec<Option<SocketRecord>>>,
    /// Readings in which the queue of connections was full; absent where the program does not listen.
    queue_full: Option<u32>,
    /// Why it ended before its time.
    ended: Option<String>,
}

impl Held {
    /// Reads them until the time is over, or they end.
    fn read(
        &self,
        diag: &mut SockDiag,
        sampler: &mut Sampler,
        time: Duration,
        is_over: &dyn Fn() -> bool,
    ) -> Read {
        let time_ns = time.as_nanos() as u64;
        let step_ns = INTERVAL_NS.max(time_ns / READINGS);
        let mut next_ns = monotonic_ns();
        let end_ns = next_ns + time_ns;
        let own = self.process.map(programs::sockets_of);
        let mut own = own.and_then(Result::ok).unwrap_or_default();
        if is_queue_full(diag, &own).is_none() {
            // A program that does not listen has no queue to look at each time.
            own.clear();
        }
        let mut read = Read::default();
        loop {
            let is_stopped = is_over() && next_ns < end_ns;
            let is_last = is_stopped || next_ns >= end_ns;
            let counts = vec![Counts::default()];
            let sample = match is_last || read.samples.is_empty() {
                true => sampler.read(counts),
                false => sampler.read_between(counts),
            };
            let sockets = self.again(diag);
            let have_ended = !sockets.is_empty() && sockets.iter().all(Option::is_none);
            if let Some(is_full) = is_queue_full(diag, &own) {
                *read.queue_full.get_or_insert(0) += u32::from(is_full);
            }
            read.samples.push(sample);
            read.sockets.push(sockets);
            if is_last || have_ended {
                read.ended = is_stopped.then(|| "the user stopped it".to_owned());
                return read;
            }
            next_ns = (next_ns + step_ns).min(end_ns);
            sampler.looks.begin();
            while monotonic_ns() < next_ns {
                let due_ns = next_ns.min(monotonic_ns() + LOOK_NS);
                sleep_until(due_ns);
                sampler.looks.look(due_ns);
            }
        }
    }

    /// The connections as they are now; absent: ended.
    fn again(&self, diag: &mut SockDiag) -> Vec<Option<SocketRecord>> {
        let is_tcp = self.sockets.iter().all(|one| one.tcp_info.is_some());
        let datagrams = match is_tcp {
            true => Vec::new(),
            false => diag.datagrams().unwrap_or_default(),
        };
        let mut now = |known: &SocketRecord| match is_tcp {
            // What waits for the end of its time has no state of a connection.
            true => diag.again(known).ok()?.filter(|one| one.tcp_info.is_some()),
            false => {
                let mut all = datagrams.iter();
                all.find(|one| one.cookie == known.cookie).cloned()
            }
        };
        self.sockets.iter().map(&mut now).collect()
    }

    /// Bytes and calls of the program so far, in the direction of its data.
    fn calls(&self) -> Option<[u64; 2]> {
        let [read, written] = programs::calls_of(self.process?)?;
        Some(match self.role {
            Role::Sender => written,
            Role::Receiver => read,
        })
    }

    /// The CPUs that a thread may use, of those that are online; empty: all.
    fn confined(&self, online: &[u32]) -> Vec<u32> {
        let cpus = self.threads.first().map(|id| cpus_of_thread(*id));
        let cpus = cpus.and_then(Result::ok).unwrap_or_default();
        match cpus.len() < online.len() {
            true => cpus,
            false => Vec::new(),
        }
    }

    fn record(
        &self,
        read: &Read,
        lasting: &[usize],
        calls: Option<[u64; 2]>,
        host: &HostDescription,
    ) -> EndpointRecord {
        let edges = read.samples.first().zip(read.samples.last());
        let flow = |place: usize| flow(self.role, edges?, place);
        let flows: Vec<FlowRecord> = (0..lasting.len()).filter_map(flow).collect();
        let all = FlowRecord::sum(&flows);
        let name = |address: SocketAddr| address.to_string();
        let lasting = lasting.iter().map(|place| &self.sockets[*place]);
        let first = lasting.clone().next();
        let congestion = first.and_then(|one| one.congestion_control.clone());
        let congestion =
            congestion.map(|actual| InEffect::found("congestion_control", Some(actual)));
        let connections = lasting.map(|one| [name(one.local), name(one.peer)]);
        let readings = read.samples.len() as u32;
        EndpointRecord {
            role: self.role,
            in_effect: congestion.into_iter().collect(),
            offloads: OffloadsInEffect {
                active: host.device.features.clone(),
                ..OffloadsInEffect::default()
            },
            window_start_ns: edges.map_or(0, |(first, _)| first.at_ns),
            window_end_ns: edges.map_or(0, |(_, last)| last.at_ns),
            counts: all.counts,
            tcp_info: all.tcp_info,
            pinned_cpus: self.confined(&host.cpus),
            flows,
            ticks_per_second: bitcost_probe::cpu::ticks_per_second(),
            samples: read.samples.clone(),
            program: Some(Box::new(Program {
                name: self.name.clone(),
                pid: self.process,
                connections: connections.collect(),
                others: self.others,
                ended: read.ended.clone(),
                queue_full: read.queue_full.map(|full| [full, readings]),
                calls,
            })),
            ..EndpointRecord::default()
        }
    }
}

impl Read {
    /// Keeps the readings until the last of the connections ended, and of those that lasted so long their state in the
    /// samples. Returns which they are.
    fn keep_lasting(&mut self, role: Role) -> Vec<usize> {
        let all = self.sockets.first().map_or(0, Vec::len);
        let length = |place: usize| {
            let mut readings = self.sockets.iter();
            let end = readings.position(|reading| reading[place].is_none());
            end.unwrap_or(self.sockets.len())
        };
        let lengths: Vec<usize> = (0..all).map(length).collect();
        let longest = lengths.iter().copied().max();
        let longest = longest.unwrap_or(self.samples.len());
        if longest < self.samples.len() {
            self.ended = Some("the connection ended".to_owned());
        }
        self.samples.truncate(longest);
        let lasting = (0..all).filter(|place| lengths[*place] == longest);
        let lasting: Vec<usize> = lasting.collect();
        let mut before = None;
        for (sample, reading) in self.samples.iter_mut().zip(&self.sockets) {
            let sockets = lasting.iter().filter_map(|place| reading[*place].as_ref());
            let infos = sockets.clone().filter_map(|one| one.tcp_info.as_ref());
            let infos: Vec<TcpInfo> = infos.map(|of| TcpInfo::of_bytes(of)).collect();
            let bytes: u64 = infos.iter().filter_map(|info| moved(role, info)).sum();
            // Counts are those since the first reading.
            sample.counts.bytes = bytes.saturating_sub(*before.get_or_insert(bytes));
            let memory = sockets.filter_map(|one| one.memory);
            sample.sockets = memory.map(memory_of).collect();
            (sample.tcp_info, sample.connections) = together(infos);
        }
        lasting
    }
}

/// Whether as many connections wait to be accepted as may; absent where none of these sockets listens.
fn is_queue_full(diag: &mut SockDiag, own: &BTreeSet<u32>) -> Option<bool> {
    if own.is_empty() {
        return None;
    }
    let listening = diag.listening().ok()?.into_iter();
    let own = listening.filter(|one| own.contains(&one.inode));
    own.map(|one| one.receive_queue >= one.send_queue.max(1))
        .max()
}

/// A connection between the first and the last reading.
fn flow(role: Role, (first, last): (&Sample, &Sample), place: usize) -> Option<FlowRecord> {
    let of = |sample: &Sample| sample.connections().get(place).cloned();
    let bytes = |sample| of(sample).and_then(|info| moved(role, &info)).unwrap_or(0);
    let sizes = |sample: &Sample| sizes(sample.sockets.get(place), of(sample).as_ref());
    let measured = Counts {
        bytes: bytes(last).saturating_sub(bytes(first)),
        ..Counts::default()
    };
    Some(FlowRecord {
        counts: PhaseCounts {
            measured,
            ..PhaseCounts::default()
        },
        tcp_info: of(last),
        at_start: sizes(first),
        at_end: sizes(last),
        ..FlowRecord::default()
    })
}

fn sizes(memory: Option<&SocketMemory>, info: Option<&TcpInfo>) -> SocketSizes {
    SocketSizes {
        send_buffer_bytes: memory.map(|of| of.send_buffer_bytes / 2),
        receive_buffer_bytes: memory.map(|of| of.receive_buffer_bytes / 2),
        mss_bytes: info.and_then(|info| info.snd_mss_bytes),
    }
}
