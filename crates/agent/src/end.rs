//! One end of one run: make ready, start, watch, finish, restore. A thread of its own.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use model::conditions::Workload;
use model::record::{EndRecord, FlowRecord, InForce, PartRecord, Role, implausible};
use netlink::PeerMetrics;
use probe::{Between, Socket};
use traffic::{Control, Flow, Phase, Sent};
use wire::{Addresses, FromAgent, Part, Prepare, SentCounts};

use crate::cached_metrics;
use crate::crowd::named;
use crate::keeping::Keeping;
use crate::knobs::Knobs;
use crate::meeting::{self, Flows};
use crate::outbox::Outbox;
use crate::sampler::Sampler;
use crate::seat::{self, Seat};
use crate::self_cost;
use crate::watch::{Command, Crew, Note, Watched};

/// How long an end waits for the controller's next word; the controller's own deadlines are shorter.
const NEXT_WORD: Duration = Duration::from_secs(60);

/// How long a queue may take to send what it holds, and how often it is looked whether it has.
const DEPARTING: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(1);

/// What can be done to a run from outside its thread.
#[derive(Clone)]
struct Brake {
    /// Of each part, of each flow.
    controls: Arc<[Vec<Arc<Control>>]>,
    sockets: Arc<Mutex<Vec<OwnedFd>>>,
    stopped: Arc<AtomicBool>,
}

impl Brake {
    fn new(prepare: &Prepare) -> Brake {
        let controls = prepare.parts.iter().map(|part| (0..part.conditions.flows).map(|_| Arc::default()).collect());
        Brake { controls: controls.collect(), sockets: Arc::default(), stopped: Arc::default() }
    }

    /// Keeps a handle of a flow's socket.
    fn hold(&self, flow: &dyn Flow) -> Result<(), String> {
        let handle = flow.handle().map_err(|error| format!("keep a handle of the socket: {error}"))?;
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
        Ok(())
    }

    fn pull(&self) {
        self.controls.iter().flatten().for_each(|control| control.enter(Phase::Abort));
        for socket in self.sockets.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // A socket that is not connected any more needs no shutdown.
            let _ = sys::socket::shutdown(socket);
        }
    }
}

/// A run at this end. Dropping it stops the traffic and waits until the host is restored.
pub struct Run {
    notes: Sender<Note>,
    /// What it was told: each word comes once, so that none piles up.
    told: Vec<std::mem::Discriminant<Command>>,
    brake: Brake,
    thread: Option<JoinHandle<()>>,
}

impl Run {
    /// Makes the end ready in a thread of its own, which reports by itself.
    pub fn begin(prepare: Prepare, outbox: Outbox, keeping: Keeping, between: Between) -> Run {
        let (out, notes) = mpsc::channel();
        let brake = Brake::new(&prepare);
        let end = End { prepare, notes, out: out.clone(), brake: brake.clone(), outbox, keeping, between };
        let thread = std::thread::spawn(move || end.play());
        Run { notes: out, told: Vec::new(), brake, thread: Some(thread) }
    }

    /// Passes on what the controller says.
    ///
    /// # Errors
    /// A sentence where it says the same word twice.
    pub fn tell(&mut self, command: Command) -> Result<(), String> {
        let word = std::mem::discriminant(&command);
        if self.told.contains(&word) {
            return Err("the controller said the same word of a run twice".to_owned());
        }
        self.told.push(word);
        self.pass(command);
        Ok(())
    }

    fn pass(&self, command: Command) {
        // A run that has ended hears nothing, and has reported why.
        let _ = self.notes.send(Note::Command(command));
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.brake.stopped.store(true, Ordering::Relaxed);
        self.brake.pull();
        self.pass(Command::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct End {
    prepare: Prepare,
    notes: Receiver<Note>,
    out: Sender<Note>,
    brake: Brake,
    outbox: Outbox,
    keeping: Keeping,
    between: Between,
}

impl End {
    /// A run that was stopped from outside has nothing to report.
    fn play(self) {
        match self.record() {
            _ if self.brake.stopped.load(Ordering::Relaxed) => {}
            Ok(record) => self.outbox.send(&FromAgent::Done(Box::new(record))),
            Err(reason) => self.outbox.send(&FromAgent::Failed { reason }),
        }
    }

    /// The host is as before when this returns, and nothing moves any more.
    fn record(&self) -> Result<EndRecord, String> {
        let first = self.prepare.parts.first().ok_or("a run without any part")?;
        let knobs = Knobs::apply(&self.prepare.device, first.role, &first.conditions, &self.keeping)?;
        let record = self.settled_traffic(&knobs);
        match (record, knobs.finish()) {
            (Ok(mut record), Ok(in_force)) => {
                record.in_force.extend(in_force);
                Ok(record)
            }
            (Err(reason), Ok(_)) | (Ok(_), Err(reason)) => Err(reason),
            (Err(reason), Err(left)) => Err(format!("{reason}; {left}")),
        }
    }

    /// Nothing moves any more when this returns.
    fn settled_traffic(&self, knobs: &Knobs) -> Result<EndRecord, String> {
        let mut crew = Crew::new(&self.notes, &self.brake.controls);
        let record = self.traffic(&mut crew, knobs);
        if record.is_err() {
            self.brake.pull();
            crew.settle();
        }
        record
    }

    fn traffic(&self, crew: &mut Crew, knobs: &Knobs) -> Result<EndRecord, String> {
        let first = self.prepare.parts.first().ok_or("a run without any part")?;
        let self_cost = self_cost::of(&first.conditions, first.role);
        let expected = meeting::expect(&self.prepare)?;
        self.outbox.send(&FromAgent::Listening { addresses: meeting::addresses(&expected) });
        let peers = crew.told_addresses(NEXT_WORD)?;
        let cached = self.keeping.metrics().begin();
        let (flows, mut in_force) = meeting::meet(&self.prepare, expected, &peers)?;
        if let Some(in_force) = in_force.first_mut() {
            in_force.extend(self.cached_metrics(cached.as_deref(), &flows, &peers));
        }
        flows.iter().flatten().try_for_each(|flow| self.brake.hold(flow.as_ref()))?;
        self.outbox.send(&FromAgent::Ready);
        let start = crew.start(NEXT_WORD)?;
        if first.conditions.is_bounded() {
            crew.enter(Phase::Measured);
        }
        let sockets = self.sockets(&flows);
        crew.spawn(flows, &self.prepare, start.begin_ns, &self.out)?;
        let probes = first.conditions.probes;
        let sampler = Sampler::open(probes, &self.prepare.device, &crew.threads(), sockets, &self.between);
        let watched = crew.watch(start, &self.prepare, sampler, &self.outbox)?;
        Ok(EndRecord { self_cost, ..self.finish(crew, watched, in_force, knobs)? })
    }

    /// What TCP connections began with; absent where there is none.
    fn cached_metrics(&self, found: Option<&[PeerMetrics]>, flows: &[Flows], told: &Addresses) -> Option<InForce> {
        let is_tcp = |part: &&wire::Part| !part.conditions.workload.is_datagram();
        self.prepare.parts.iter().find(is_tcp)?;
        let parts = self.prepare.parts.iter().zip(flows).filter(|(part, _)| is_tcp(part));
        let handles = parts.flat_map(|(_, flows)| flows).filter_map(|flow| flow.handle().ok());
        let told = told.iter().flatten().map(|address| address.ip().to_canonical());
        let peers = handles.filter_map(cached_metrics::peer_of).chain(told).collect();
        Some(self.keeping.metrics().met(found, &peers))
    }

    /// Second handles of the flows' sockets, of each part. Workloads that make a connection for each transaction have
    /// none that stays.
    fn sockets(&self, flows: &[Flows]) -> Vec<Vec<Socket>> {
        let of_part = |(part, flows): (&wire::Part, &Flows)| {
            let is_connection = matches!(part.conditions.workload, Workload::TcpStream | Workload::TcpRr);
            let stays = is_connection || part.conditions.workload.is_datagram();
            let handles = flows.iter().filter(|_| stays).filter_map(|flow| flow.handle().ok());
            handles.map(|handle| Socket { handle, is_connection }).collect()
        };
        self.prepare.parts.iter().zip(flows).map(of_part).collect()
    }

    /// What this end sends ends when its loops do; of what it receives it hears first how much there was.
    fn finish(
        &self,
        crew: &mut Crew,
        watched: Watched,
        mut in_force: Vec<Vec<InForce>>,
        knobs: &Knobs,
    ) -> Result<EndRecord, String> {
        if let Some((first, in_force)) = self.prepare.parts.first().zip(in_force.first_mut()) {
            let word = Some(first.conditions.probes.name().to_owned());
            in_force.push(InForce { name: "probes".into(), asked: word.clone(), actual: word });
        }
        for (index, (part, in_force)) in self.prepare.parts.iter().zip(&mut in_force).enumerate() {
            let seats: Vec<&Seat> = watched.seats.iter().filter(|(of, _)| *of == index).map(|(_, seat)| seat).collect();
            in_force.extend(seat::in_force(part, &seats));
            in_force.push(InForce {
                name: "threads".into(),
                asked: part.conditions.threads.map(|threads| threads.to_string()),
                actual: Some(seats.len().to_string()),
            });
        }
        crew.await_ends(|part| self.prepare.parts[part].role == Role::Sender)?;
        self.outbox.send(&FromAgent::Sent { sent: self.sent() });
        let sent = crew.told_sent(NEXT_WORD)?;
        crew.await_ends(|_| true)?;
        let flows = crew.flows();
        self.await_departures(&flows);
        let mut parts: Vec<PartRecord> =
            in_force.into_iter().zip(flows).enumerate().map(|(part, left)| self.part(part, left, &sent)).collect();
        if parts.is_empty() {
            return Err("a run without any part".into());
        }
        self.check_counts(&parts, &sent)?;
        let first = parts.remove(0);
        Ok(EndRecord {
            role: first.role,
            in_force: first.in_force,
            offloads: knobs.offloads.clone(),
            pinned_cpus: seat::pinned(watched.seats.iter().map(|(_, seat)| seat)),
            window_begin_ns: watched.window_begin_ns,
            window_end_ns: watched.window_end_ns,
            counts: first.all.counts,
            sequence: first.all.sequence,
            tcp_info: first.all.tcp_info,
            latency: first.all.latency,
            flows: first.flows,
            beside: parts,
            self_cost: None,
            ticks_per_second: probe::cpu::ticks_per_second(),
            samples: watched.samples,
            idle: None,
        })
    }

    /// A run in which what came cannot be what was sent has no figures.
    fn check_counts(&self, parts: &[PartRecord], sent: &SentCounts) -> Result<(), String> {
        let is_received = |part: &Part| part.role == Role::Receiver && part.conditions.workload == Workload::UdpStream;
        for ((part, record), sent) in self.prepare.parts.iter().zip(parts).zip(sent) {
            for (index, (flow, sent)) in record.flows.iter().zip(sent).enumerate().filter(|_| is_received(part)) {
                if let Some(reason) = implausible(*sent, &flow.counts, flow.sequence.as_ref()) {
                    return Err(named(index, record.flows.len(), reason));
                }
            }
        }
        Ok(())
    }

    /// Waits until the kernel has let go of the datagrams that this end sent: a queue that paces or delays still holds some,
    /// and would drop them where the run's settings are taken back.
    fn await_departures(&self, flows: &[Vec<Box<dyn Flow>>]) {
        let deadline = Instant::now() + DEPARTING;
        let is_sent = |part: &&Part| part.role == Role::Sender && part.conditions.workload == Workload::UdpStream;
        let of_parts = self.prepare.parts.iter().zip(flows).filter(|(part, _)| is_sent(part));
        for handle in of_parts.flat_map(|(_, flows)| flows).filter_map(|flow| flow.handle().ok()) {
            while sys::socket::memory(&handle).is_ok_and(|memory| memory.send_allocated_bytes > 0)
                && Instant::now() < deadline
            {
                thread::sleep(LOOK);
            }
        }
    }

    /// Messages of each flow that this end sent.
    fn sent(&self) -> SentCounts {
        let of_flow = |control: &Arc<Control>| {
            let counts = control.counts();
            [counts.measured.messages, counts.total().messages]
        };
        let of_part = |(part, controls): (&wire::Part, &Vec<Arc<Control>>)| match part.role {
            Role::Sender => controls.iter().map(of_flow).collect(),
            Role::Receiver => Vec::new(),
        };
        self.prepare.parts.iter().zip(self.brake.controls.iter()).map(of_part).collect()
    }

    /// What a part left behind, given what the other end sent of it.
    fn part(&self, part: usize, left: (Vec<InForce>, Flows), sent: &SentCounts) -> PartRecord {
        let (in_force, flows) = left;
        let controls = &self.brake.controls[part];
        let sent_of = |flow: usize| {
            let counts = sent.get(part).and_then(|flows| flows.get(flow));
            counts.map(|[measured, total]| Sent { measured: *measured, total: *total }).unwrap_or_default()
        };
        let record = |(index, flow): (usize, Box<dyn Flow>)| {
            let outcome = flow.outcome(sent_of(index));
            FlowRecord {
                counts: controls[index].counts(),
                sequence: outcome.sequence,
                tcp_info: outcome.tcp_info,
                latency: outcome.latency,
                pacing: outcome.pacing,
                low_water_bytes: outcome.low_water_bytes,
                delay_variation: outcome.delay_variation,
                mode_counters: outcome.mode_counters,
                at_begin: outcome.at_begin,
                at_end: outcome.at_end,
            }
        };
        let flows: Vec<FlowRecord> = flows.into_iter().enumerate().map(record).collect();
        PartRecord { role: self.prepare.parts[part].role, in_force, all: FlowRecord::sum(&flows), flows }
    }
}
