//! One endpoint of one run, in its own thread: prepare, start, watch, finish, restore.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bitcost_model::counters::ForeignLoad;
use bitcost_model::protocol::{
    Addresses, FromAgent, Origin, Part, Peer, Prepare, SentCounts, ToAgent,
};
use bitcost_model::record::{
    EndpointRecord, FlowRecord, InEffect, NARROW_HOP, PATH_MTU, PartRecord, Role, implausible,
};
use bitcost_probe::Socket;
use bitcost_probe::core_to_core::CoreToCoreMeter;
use bitcost_probe::foreign::{Census, Own, is_at, process_of};
use bitcost_probe::speed::SpeedMeter;
use bitcost_traffic::{Control, Flow, Phase};

use crate::abort::Abort;
use crate::affinity;
use crate::cached_metrics;
use crate::connect::named;
use crate::describe::napi_threads;
use crate::events::Event;
use crate::journaling::Journaling;
use crate::output::Output;
use crate::place::Place;
use crate::profile::{Profiler, Tasks};
use crate::receiving;
use crate::refusal::Refusal;
use crate::sampler::Sampler;
use crate::settings::Settings;
use crate::setup::{self, Flows};
use crate::softirqs;
use crate::threads::{Threads, Watched};
use crate::warden::Warden;
use crate::whole::Whole;

/// The time that a queue may take to drain, and the interval at which that is checked.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
const DRAIN_CHECK: Duration = Duration::from_millis(1);

/// A run at this endpoint. Dropping it stops the traffic and waits until the host is restored.
pub struct Run {
    events: Sender<Event>,
    /// The commands that it has received: each is accepted once, so that none queues up.
    received: Vec<std::mem::Discriminant<ToAgent>>,
    abort: Abort,
    thread: Option<JoinHandle<()>>,
}

impl Run {
    /// Prepares the endpoint in its own thread, which reports to the controller.
    pub fn start(prepare: Prepare, output: Output, journaling: Journaling, place: Place) -> Run {
        let (out, events) = mpsc::channel();
        let abort = Abort::new(&prepare);
        let endpoint = Endpoint {
            prepare,
            events,
            out: out.clone(),
            abort: abort.clone(),
            output,
            journaling,
            place,
        };
        let thread = std::thread::spawn(move || endpoint.run());
        Run {
            events: out,
            received: Vec::new(),
            abort,
            thread: Some(thread),
        }
    }

    pub fn forward(&mut self, command: ToAgent) -> Result<(), Refusal> {
        let kind = std::mem::discriminant(&command);
        if self.received.contains(&kind) {
            return Err("the controller sent the same command of a run twice".into());
        }
        self.received.push(kind);
        self.pass(command);
        Ok(())
    }

    fn pass(&self, command: ToAgent) {
        // A run that has ended accepts no command, and has reported its end.
        let _ = self.events.send(Event::Command(command));
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.abort.stopped.store(true, Ordering::Relaxed);
        self.abort.stop_traffic();
        self.pass(ToAgent::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Endpoint {
    prepare: Prepare,
    events: Receiver<Event>,
    out: Sender<Event>,
    abort: Abort,
    output: Output,
    journaling: Journaling,
    place: Place,
}

impl Endpoint {
    /// Runs the endpoint and reports its result. A run that was ended from outside reports nothing.
    fn run(self) {
        match self.record() {
            _ if self.abort.stopped.load(Ordering::Relaxed) => {}
            Ok(record) => self.output.send(&FromAgent::Done(Box::new(record))),
            Err(refusal) => self.output.send(&refusal.message()),
        }
    }

    /// The record of the run. When this returns, the host is restored and the traffic has ended.
    fn record(&self) -> Result<EndpointRecord, Refusal> {
        let first = self.prepare.parts.first().ok_or("a run without any part")?;
        let settings = Settings::apply(
            &self.prepare.device,
            first.conditions.direction.role_of(first.role),
            &first.conditions,
            receiving::keeps_gro(&self.prepare),
            &self.journaling,
        )?;
        // Turning GRO on makes other kernel threads, so this is after the settings.
        let received = receiving::apply(&self.prepare);
        let record = received.and_then(|received| {
            let mut record = self.ended_traffic(&settings)?;
            record.in_effect.extend(received);
            Ok(record)
        });
        match (record, settings.finish()) {
            (Ok(mut record), Ok(in_effect)) => {
                record.in_effect.extend(in_effect);
                Ok(record)
            }
            (Err(refusal), Ok(_)) => Err(refusal),
            (Ok(_), Err(left)) => Err(left),
            (Err(refusal), Err(left)) => Err(refusal.and(&[left.reason])),
        }
    }

    /// As [`Endpoint::traffic`]; when this returns, the traffic has ended.
    fn ended_traffic(&self, settings: &Settings) -> Result<EndpointRecord, Refusal> {
        let mut threads = Threads::new(&self.events, &self.abort.controls);
        let mut warden = None;
        let record = self.traffic(&mut threads, settings, &mut warden);
        if record.is_err() {
            self.abort.stop_traffic();
            threads.await_abort();
        }
        match warden.and_then(Warden::finish) {
            Some(broken) => Err(broken),
            None => record,
        }
    }

    fn traffic(
        &self,
        threads: &mut Threads,
        settings: &Settings,
        warden: &mut Option<Warden>,
    ) -> Result<EndpointRecord, Refusal> {
        let first = self.prepare.parts.first().ok_or("a run without any part")?;
        let listening = setup::listen(&self.prepare, self.place.confinement.as_ref())?;
        self.output.send(&FromAgent::Listening {
            addresses: listening.addresses(),
            origin: self.place.origin.clone(),
        });
        let (peers, peer_origin) = threads.await_peer()?;
        let cached = self.journaling.metrics().start_run();
        let profiler = match self.prepare.is_profiled {
            true => Some(Profiler::open()?),
            false => None,
        };
        let (flows, mut in_effect) = listening.establish(&self.prepare, &peers)?;
        if let Some(in_effect) = in_effect.first_mut() {
            in_effect.extend(self.cached_metrics(cached.as_deref(), &flows, &peers));
        }
        for (part, flows) in flows.iter().enumerate() {
            let mut flows = flows.iter();
            flows.try_for_each(|flow| self.abort.hold(part, flow.as_ref()))?;
        }
        let softirqs = softirqs::start(&self.prepare, &mut in_effect);
        let before = Census::take();
        let whole = Whole::start(
            &self.prepare.device,
            self.sockets(&flows),
            &self.place.between,
        );
        let sockets = self.sockets(&flows);
        // Before the first of them sends: it would take the CPU time that the rest of this needs.
        threads.spawn(flows, &self.prepare, &self.out)?;
        let mut sampler = Sampler::open(
            &self.prepare.device,
            &threads.started,
            sockets,
            &self.place.between,
            softirqs,
        );
        sampler.profiler = profiler;
        self.output.send(&FromAgent::Ready);
        let start = threads.await_start()?;
        let confinement = self.place.confinement.clone();
        *warden = Warden::start(confinement, &self.prepare, &self.abort, start.begin_ns)?;
        if first.conditions.is_bounded() {
            threads.enter(Phase::Measured);
        }
        threads.begin(start.begin_ns);
        let speed = SpeedMeter::start(&self.prepare.cpus);
        let distance = self.distance();
        let mut watched =
            threads.watch(start, &self.prepare, sampler, &self.output, &self.abort)?;
        let core_to_core = distance.and_then(CoreToCoreMeter::finish);
        self.end_sending(threads, &watched)?;
        let foreign = self.foreign_since(before, peer_origin.as_ref(), &peers);
        let profiler = watched.profiler.take();
        let record = self.finish(threads, watched, in_effect, settings)?;
        // Names of functions and threads are looked for when the traffic has ended.
        let tasks = || self.tasks(peer_origin.as_ref());
        let finish = |profiler: Profiler| profiler.finish(&tasks());
        let profile = profiler.map(finish).transpose()?.map(Box::new);
        Ok(EndpointRecord {
            profile,
            foreign,
            speed: speed.finish(),
            core_to_core,
            whole: Some(whole.finish()),
            ..record
        })
    }

    /// The CPU time of other programs since the reading before the traffic. Processes of either
    /// endpoint are the run's where both are on this host.
    fn foreign_since(
        &self,
        before: Option<Census>,
        peer: Option<&Origin>,
        addresses: &Addresses,
    ) -> Option<ForeignLoad> {
        let ticks = bitcost_probe::cpu::ticks_per_second();
        let (before, now) = (before?, Census::take()?);
        let own = self.own(&now, peer)?;
        let load = now.since(&before, &own, ticks);
        if self.prepare.peer == Peer::Bitcost {
            return Some(load);
        }
        // The other endpoint names no process: it is the one with the sockets.
        let ports: Vec<u16> = addresses.iter().flatten().map(|at| at.port()).collect();
        let programs = load.programs.iter().map(|program| program.pid);
        let own = own.with(programs.filter(|pid| is_at(*pid, &ports)));
        Some(now.since(&before, &own, ticks))
    }

    fn own(&self, now: &Census, peer: Option<&Origin>) -> Option<Own> {
        let own = self.place.origin.as_ref()?;
        let origins = [Some(own), peer].into_iter().flatten();
        let roots = origins
            .filter_map(|origin| process_of(now, origin))
            .collect();
        Some(Own::of(now, roots, self.place.between.lab_daemons()))
    }

    fn tasks(&self, peer: Option<&Origin>) -> Tasks {
        let device = &self.prepare.device;
        Tasks {
            run: Census::take().and_then(|now| {
                let own = self.own(&now, peer)?;
                Some((now, own))
            }),
            lab: self.place.between.lab_daemons(),
            napi: napi_threads(device).unwrap_or_default(),
            device: device.clone(),
        }
    }

    /// Measures how far the CPU of the first part's traffic is from the other endpoint's, where this
    /// endpoint is to do so.
    fn distance(&self) -> Option<CoreToCoreMeter> {
        let first = self.prepare.parts.first()?;
        let asked = &first.conditions.places.end(first.role).cpus;
        let own = asked.first().or(self.prepare.cpus.first())?;
        CoreToCoreMeter::start([*own, self.prepare.peer_cpu?])
    }

    fn sockets(&self, flows: &[Flows]) -> Vec<Vec<Socket>> {
        let parts = self.prepare.parts.iter().zip(flows);
        parts.map(|(part, flows)| sockets(part, flows)).collect()
    }

    /// Handles of the sockets of the parts for which this is true.
    fn handles<'a>(
        &'a self,
        flows: &'a [Flows],
        is_of: impl Fn(&Part) -> bool + 'a,
    ) -> impl Iterator<Item = OwnedFd> + 'a {
        let parts = self.prepare.parts.iter().zip(flows);
        parts
            .filter(move |(part, _)| is_of(part))
            .flat_map(|(_, flows)| flows)
            .filter_map(|flow| flow.handle().ok())
    }

    /// The metrics with which TCP connections started; absent where there is none.
    fn cached_metrics(
        &self,
        found: Option<&[IpAddr]>,
        flows: &[Flows],
        sent: &Addresses,
    ) -> Option<InEffect> {
        let is_tcp = |part: &Part| !part.conditions.workload.is_datagram();
        self.prepare.parts.iter().find(|part| is_tcp(part))?;
        let handles = self.handles(flows, is_tcp);
        let sent = sent
            .iter()
            .flatten()
            .map(|address| address.ip().to_canonical());
        let peers = handles
            .filter_map(cached_metrics::peer_of)
            .chain(sent)
            .collect();
        Some(self.journaling.metrics().record(found, &peers))
    }

    /// Waits until the loops of the flows that this endpoint sends have ended, and reports what they sent.
    fn end_sending(&self, threads: &mut Threads, watched: &Watched) -> Result<(), Refusal> {
        let is_sent = |part: usize| self.prepare.parts[part].role == Role::Sender;
        self.abort
            .discard(|part| is_sent(part) && self.prepare.discards_rest(part));
        threads.await_ends(watched, &self.abort, is_sent)?;
        self.output.send(&FromAgent::Sent {
            sent: self.sent(),
            stalled_ms: threads.stalled_ms(),
        });
        Ok(())
    }

    /// Waits for the ends of all flows, and makes the record. For flows that this endpoint receives, the controller first
    /// reports how much was sent.
    fn finish(
        &self,
        threads: &mut Threads,
        watched: Watched,
        mut in_effect: Vec<Vec<InEffect>>,
        settings: &Settings,
    ) -> Result<EndpointRecord, Refusal> {
        for (index, (part, in_effect)) in self.prepare.parts.iter().zip(&mut in_effect).enumerate()
        {
            let of_part = watched.pinned.iter().filter(|(of, _)| *of == index);
            let pinned = affinity::all(of_part.map(|(_, cpus)| cpus));
            in_effect.push(affinity::in_effect(part, &pinned));
        }
        let mut parts = self.prepare.parts.iter();
        let sent = match parts.any(|part| part.role == Role::Receiver) {
            true => threads.await_sent()?,
            false => SentCounts::new(),
        };
        // The receiver goes on until the sender has ended.
        self.abort.discard(|part| self.prepare.discards_rest(part));
        threads.await_ends(&watched, &self.abort, |_| true)?;
        let flows = threads.flows();
        self.await_queue_drain(&flows);
        let mut parts: Vec<PartRecord> = in_effect
            .into_iter()
            .zip(flows)
            .enumerate()
            .map(|(part, left)| self.part(part, left, &sent))
            .collect();
        self.check_counts(&parts, &sent)?;
        let first = parts.remove(0);
        Ok(EndpointRecord {
            role: first.role,
            in_effect: first.in_effect,
            offloads: settings.offloads.clone(),
            pinned_cpus: affinity::all(watched.pinned.iter().map(|(_, cpus)| cpus)),
            window_start_ns: watched.window_start_ns,
            window_end_ns: watched.window_end_ns,
            counts: first.all.counts,
            sequence: first.all.sequence,
            tcp_info: first.all.tcp_info,
            latency: first.all.latency,
            flows: first.flows,
            background: parts,
            ticks_per_second: bitcost_probe::cpu::ticks_per_second(),
            samples: watched.samples,
            ..EndpointRecord::default()
        })
    }

    /// Fails a run whose received counts are impossible for the sent messages.
    fn check_counts(&self, parts: &[PartRecord], sent: &SentCounts) -> Result<(), String> {
        let is_received = |part: &Part| {
            part.role == Role::Receiver && part.conditions.workload.numbers_datagrams()
        };
        for ((part, record), sent) in self.prepare.parts.iter().zip(parts).zip(sent) {
            for (index, (flow, sent)) in record
                .flows
                .iter()
                .zip(sent)
                .enumerate()
                .filter(|_| is_received(part))
            {
                if let Some(reason) = implausible(*sent, &flow.counts, flow.sequence.as_ref()) {
                    return Err(named(index, record.flows.len(), reason));
                }
            }
        }
        Ok(())
    }

    /// Waits until the kernel has sent the datagrams of this endpoint: a qdisc that paces or delays
    /// still holds some, and would drop them when the run's settings are restored.
    fn await_queue_drain(&self, flows: &[Flows]) {
        let deadline = Instant::now() + DRAIN_TIMEOUT;
        let is_sent =
            |part: &Part| part.role == Role::Sender && part.conditions.workload.numbers_datagrams();
        for handle in self.handles(flows, is_sent) {
            let is_sending = || {
                bitcost_sys::socket::memory(&handle)
                    .is_ok_and(|[_, _, allocated, ..]| allocated > 0)
            };
            while is_sending() && Instant::now() < deadline {
                thread::sleep(DRAIN_CHECK);
            }
        }
    }

    /// Messages that each flow sent; none of a part that this endpoint receives.
    fn sent(&self) -> SentCounts {
        self.prepare
            .parts
            .iter()
            .zip(self.abort.controls.iter())
            .map(|(part, controls)| match part.role {
                Role::Receiver => Vec::new(),
                Role::Sender => controls.iter().map(|control| messages(control)).collect(),
            })
            .collect()
    }

    /// The record of a part, given what the other endpoint sent of it.
    fn part(&self, part: usize, left: (Vec<InEffect>, Flows), sent: &SentCounts) -> PartRecord {
        let (mut in_effect, flows) = left;
        let conditions = &self.prepare.parts[part].conditions;
        let handle = flows.first().and_then(|flow| flow.handle().ok());
        if let Some(handle) = handle.filter(|_| conditions.workload.is_datagram()) {
            // The path's packets have shown it meanwhile.
            let mtu_bytes = bitcost_traffic::path_mtu_bytes(&handle);
            in_effect.push(InEffect::found(PATH_MTU, mtu_bytes));
            let is_cut = |mtu: &u32| conditions.in_fragments(*mtu, None).is_some();
            let hop = mtu_bytes.filter(is_cut);
            let hop = hop.and_then(|mtu| bitcost_traffic::narrow_hop(&handle, mtu));
            in_effect.extend(hop.map(|hop| InEffect::found(NARROW_HOP, Some(hop))));
        }
        let controls = &self.abort.controls[part];
        let sent_of = |flow: usize| {
            let counts = sent.get(part).and_then(|flows| flows.get(flow));
            counts.copied().unwrap_or_default()
        };
        let record = |(index, flow): (usize, Box<dyn Flow>)| FlowRecord {
            counts: controls[index].counts(),
            ..flow.outcome(sent_of(index))
        };
        let flows: Vec<FlowRecord> = flows.into_iter().enumerate().map(record).collect();
        PartRecord {
            role: self.prepare.parts[part].role,
            in_effect,
            all: FlowRecord::sum(&flows),
            flows,
        }
    }
}

/// Second handles of the sockets of a part. Workloads that make a connection for each transaction
/// have no permanent socket.
fn sockets(part: &Part, flows: &Flows) -> Vec<Socket> {
    let workload = part.conditions.workload;
    let is_connection = workload.keeps_connection();
    if !is_connection && !workload.is_datagram() {
        return Vec::new();
    }
    let handles = flows.iter().filter_map(|flow| flow.handle().ok());
    handles
        .map(|handle| Socket {
            handle,
            is_connection,
        })
        .collect()
}

/// The messages of a flow in the window and in the whole run.
fn messages(control: &Control) -> [u64; 2] {
    let counts = control.counts();
    [counts.measured.messages, counts.total().messages]
}
