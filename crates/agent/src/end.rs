//! One end of one run: make ready, start, watch, finish, restore. A thread of its own.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::conditions::{Conditions, Pacing, Workload};
use model::place::{EndPlace, Places, Ports};
use model::record::{EndRecord, FlowRecord, InForce, Role};
use traffic::{Control, Flow, Phase, Ready};
use wire::{FromAgent, Prepare};

use crate::knobs::Knobs;
use crate::outbox::Outbox;
use crate::seat;
use crate::self_cost;
use crate::watch::{Command, Crew, Note, Watched};

/// How long the two ends of a flow try to meet.
const MEETING: Duration = Duration::from_secs(4);

/// How long an end waits for the controller's next word; the controller's own deadlines are shorter.
const NEXT_WORD: Duration = Duration::from_secs(60);

/// The flows of an end, in order.
type Flows = Vec<Box<dyn Flow>>;

/// What can be done to a run from outside its thread.
#[derive(Clone)]
struct Brake {
    controls: Arc<[Arc<Control>]>,
    sockets: Arc<Mutex<Vec<OwnedFd>>>,
}

impl Brake {
    fn new(flows: u32) -> Brake {
        Brake { controls: (0..flows).map(|_| Arc::default()).collect(), sockets: Arc::default() }
    }

    /// Keeps a handle of a flow's socket.
    fn hold(&self, flow: &dyn Flow) -> Result<(), String> {
        let handle = flow.handle().map_err(|error| format!("keep a handle of the socket: {error}"))?;
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
        Ok(())
    }

    fn pull(&self) {
        self.controls.iter().for_each(|control| control.enter(Phase::Abort));
        for socket in self.sockets.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // A socket that is not connected any more needs no shutdown.
            let _ = sys::socket::shutdown(socket);
        }
    }

    fn is_pulled(&self) -> bool {
        self.controls.iter().any(|control| control.phase() == Phase::Abort)
    }
}

/// A run at this end. Dropping it stops the traffic and waits until the host is restored.
pub struct Run {
    notes: Sender<Note>,
    brake: Brake,
    thread: Option<JoinHandle<()>>,
}

impl Run {
    /// Makes the end ready in a thread of its own, which reports by itself.
    pub fn begin(prepare: Prepare, outbox: Outbox) -> Run {
        let (out, notes) = mpsc::channel();
        let brake = Brake::new(prepare.conditions.flows);
        let end = End { prepare, notes, out: out.clone(), brake: brake.clone(), outbox };
        let thread = std::thread::spawn(move || end.play());
        Run { notes: out, brake, thread: Some(thread) }
    }

    /// Passes on what the controller says.
    pub fn tell(&self, command: Command) {
        // A run that has ended hears nothing, and has reported why.
        let _ = self.notes.send(Note::Command(command));
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.brake.pull();
        // Ends the wait for the controller's next word.
        self.tell(Command::Finish(Vec::new()));
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
}

impl End {
    /// A run that was stopped from outside has nothing to report.
    fn play(self) {
        match self.record() {
            _ if self.brake.is_pulled() => {}
            Ok(record) => self.outbox.send(&FromAgent::Done(Box::new(record))),
            Err(reason) => {
                self.outbox.send(&FromAgent::Failed { reason });
                self.brake.pull();
            }
        }
    }

    fn record(&self) -> Result<EndRecord, String> {
        let knobs = Knobs::apply(&self.prepare.device, self.prepare.conditions.offloads)?;
        let (conditions, pacing) = with_pacing(&self.prepare)?;
        let self_cost = self_cost::of(&conditions, self.prepare.role);
        let (mut in_force, flows) = self.meet(&conditions)?;
        in_force.extend(pacing);
        self.outbox.send(&FromAgent::Ready { in_force: in_force.clone(), offloads: knobs.offloads.clone() });
        let mut crew = Crew::new(&self.notes, &self.brake.controls);
        let start = crew.start(NEXT_WORD)?;
        if self.prepare.conditions.is_bounded() {
            crew.enter(Phase::Measured);
        }
        crew.spawn(flows, &self.prepare, start.begin_ns, &self.out)?;
        let watched = crew.watch(start, &self.prepare, self.connections(conditions.workload), &self.outbox)?;
        Ok(EndRecord { self_cost, ..self.finish(crew, watched, in_force, &knobs)? })
    }

    /// Second handles of the connections whose `TCP_INFO` is sampled: those of workloads with one for each flow.
    fn connections(&self, workload: Workload) -> Vec<OwnedFd> {
        let sockets = self.brake.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        let has_one = matches!(workload, Workload::TcpStream | Workload::TcpRr);
        sockets.iter().filter(|_| has_one).filter_map(|socket| socket.try_clone().ok()).collect()
    }

    /// Every flow of this end, and the settings of the first.
    fn meet(&self, conditions: &Conditions) -> Result<(Vec<InForce>, Flows), String> {
        let shares = shares(conditions);
        let ready = match self.prepare.role {
            Role::Sender => self.connect(&shares),
            Role::Receiver => self.accept(&shares),
        };
        let ready = ready.map_err(|error| error.to_string())?;
        let in_force = ready.first().map(|ready| ready.in_force.clone()).unwrap_or_default();
        let flows: Flows = ready.into_iter().map(|ready| ready.flow).collect();
        flows.iter().try_for_each(|flow| self.brake.hold(flow.as_ref()))?;
        Ok((in_force, flows))
    }

    fn connect(&self, shares: &[Conditions]) -> Result<Vec<Ready>, traffic::TrafficError> {
        let connect =
            |(share, peer): (&Conditions, &SocketAddr)| traffic::connect(share, *peer, self.prepare.token, MEETING);
        shares.iter().zip(&self.prepare.connect_to).map(connect).collect()
    }

    fn accept(&self, shares: &[Conditions]) -> Result<Vec<Ready>, traffic::TrafficError> {
        let address = self.prepare.listen_on.unwrap_or(IpAddr::from([0; 4]));
        let listen = |share| traffic::listen(share, address, self.prepare.token);
        let pending = shares.iter().map(listen).collect::<Result<Vec<_>, _>>()?;
        let addresses = pending.iter().map(|pending| pending.address()).collect();
        self.outbox.send(&FromAgent::Listening { addresses });
        pending.into_iter().map(|pending| pending.accept(MEETING)).collect()
    }

    /// A sender is done when its loops are; a receiver hears first how much there was to receive.
    fn finish(
        &self,
        mut crew: Crew,
        watched: Watched,
        mut in_force: Vec<InForce>,
        knobs: &Knobs,
    ) -> Result<EndRecord, String> {
        in_force.extend(seat::in_force(&self.prepare, &watched.seats));
        let sent = match self.prepare.role {
            Role::Sender => Vec::new(),
            Role::Receiver => crew.told_sent(NEXT_WORD)?,
        };
        let flows = crew.join()?;
        let record = |(index, flow): (usize, Box<dyn Flow>)| {
            let outcome = flow.outcome(sent.get(index).copied().unwrap_or_default());
            FlowRecord {
                counts: self.brake.controls[index].counts(),
                sequence: outcome.sequence,
                tcp_info: outcome.tcp_info,
                latency: outcome.latency,
                pacing: outcome.pacing,
                low_water_bytes: outcome.low_water_bytes,
                delay_variation: outcome.delay_variation,
                mode_counters: outcome.mode_counters,
            }
        };
        let flows: Vec<FlowRecord> = flows.into_iter().enumerate().map(record).collect();
        let all = FlowRecord::sum(&flows);
        Ok(EndRecord {
            role: self.prepare.role,
            in_force,
            offloads: knobs.offloads.clone(),
            pinned_cpus: seat::pinned(&watched.seats),
            window_begin_ns: watched.window_begin_ns,
            window_end_ns: watched.window_end_ns,
            counts: all.counts,
            sequence: all.sequence,
            tcp_info: all.tcp_info,
            latency: all.latency,
            flows,
            self_cost: None,
            ticks_per_second: probe::cpu::ticks_per_second(),
            samples: watched.samples,
        })
    }
}

/// The run's conditions with its pacer chosen: only `fq` paces datagrams, and a kernel without it says nothing.
fn with_pacing(prepare: &Prepare) -> Result<(Conditions, Option<InForce>), String> {
    let mut conditions = prepare.conditions.clone();
    if conditions.asked_messages_per_second().is_none() || prepare.role == Role::Receiver {
        return Ok((conditions, None));
    }
    let facts = host::describe(&prepare.device).map_err(|error| error.to_string())?;
    let kinds: Vec<&str> = facts.qdiscs.iter().map(|qdisc| qdisc.kind.as_str()).collect();
    let kernel_can = !conditions.workload.is_datagram() || kinds.contains(&"fq");
    let asked = match conditions.pacing {
        Pacing::Kernel if !kernel_can => {
            return Err(format!(
                "pacing of UDP by the kernel needs the queueing discipline fq on {}, which has {}; use --pacing sender",
                prepare.device,
                kinds.join(", ")
            ));
        }
        Pacing::Kernel => Some("kernel"),
        Pacing::Sender => Some("sender"),
        Pacing::Auto => None,
    };
    if conditions.pacing == Pacing::Auto {
        let by_kernel = conditions.workload.is_datagram() && kernel_can;
        conditions.pacing = if by_kernel { Pacing::Kernel } else { Pacing::Sender };
    }
    let actual = if conditions.pacing == Pacing::Kernel { "kernel" } else { "sender" };
    let pacing = InForce { name: "pacing".into(), asked: asked.map(str::to_owned), actual: Some(actual.to_owned()) };
    Ok((conditions, Some(pacing)))
}

/// The place of one flow: a receiver's flows listen each on a port of its own.
fn places(places: &Places, index: u64) -> Places {
    let ports = places.receiver.ports.map(|ports| Ports { first: ports.first.saturating_add(index as u16), ..ports });
    Places { receiver: EndPlace { ports, ..places.receiver.clone() }, ..places.clone() }
}

/// The conditions of each flow: bounds are of the whole run, and divided among the flows.
fn shares(conditions: &Conditions) -> Vec<Conditions> {
    let flows = u64::from(conditions.flows);
    let part = |whole: Option<u64>, index: u64| whole.map(|whole| whole / flows + u64::from(index < whole % flows));
    let share = |index| Conditions {
        stop_bytes: part(conditions.stop_bytes, index),
        stop_messages: part(conditions.stop_messages, index),
        stop_transactions: part(conditions.stop_transactions, index),
        places: places(&conditions.places, index),
        ..conditions.clone()
    };
    (0..flows).map(share).collect()
}
