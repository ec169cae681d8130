//! One end of one run: make ready, start, watch, finish, restore. A thread of its own.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::record::{EndRecord, InForce, Role};
use traffic::{Control, Phase, Ready, Sent};
use wire::{FromAgent, Prepare, Start};

use crate::knobs::Knobs;
use crate::outbox::Outbox;
use crate::watch::{Traffic, Watched};

/// How long the two ends try to meet.
const MEETING: Duration = Duration::from_secs(4);

/// How long an end waits for the controller's next word; the controller's own deadlines are shorter.
const NEXT_WORD: Duration = Duration::from_secs(60);

/// What the controller says to a run.
pub enum Command {
    /// Begin.
    Start(Start),
    /// The sender has sent this much.
    Finish(Sent),
}

/// What can be done to a run from outside its thread.
#[derive(Clone, Default)]
pub struct Brake {
    control: Arc<Control>,
    socket: Arc<Mutex<Option<OwnedFd>>>,
}

impl Brake {
    fn pull(&self) {
        self.control.enter(Phase::Abort);
        if let Some(socket) = self.socket.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            // A socket that is not connected any more needs no shutdown.
            let _ = sys::socket::shutdown(socket);
        }
    }
}

/// A run at this end. Dropping it stops the traffic and waits until the host is restored.
pub struct Run {
    commands: Option<Sender<Command>>,
    brake: Brake,
    thread: Option<JoinHandle<()>>,
}

impl Run {
    /// Makes the end ready in a thread of its own, which reports by itself.
    pub fn begin(prepare: Prepare, outbox: Outbox) -> Run {
        let (sender, commands) = mpsc::channel();
        let brake = Brake::default();
        let end = End { prepare, commands, brake: brake.clone(), outbox };
        let thread = std::thread::spawn(move || end.play());
        Run { commands: Some(sender), brake, thread: Some(thread) }
    }

    /// Passes on what the controller says.
    pub fn tell(&self, command: Command) {
        if let Some(commands) = &self.commands {
            // A run that has ended hears nothing, and has reported why.
            let _ = commands.send(command);
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.commands = None;
        self.brake.pull();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct End {
    prepare: Prepare,
    commands: Receiver<Command>,
    brake: Brake,
    outbox: Outbox,
}

/// Why a run ended without a record: in words, or because the controller said so.
enum Halt {
    Because(String),
    Told,
}

impl From<traffic::TrafficError> for Halt {
    fn from(error: traffic::TrafficError) -> Halt {
        Halt::Because(error.to_string())
    }
}

impl End {
    fn play(self) {
        match self.record() {
            Ok(record) => self.outbox.send(&FromAgent::Done(Box::new(record))),
            Err(Halt::Because(reason)) if self.brake.control.phase() != Phase::Abort => {
                self.outbox.send(&FromAgent::Failed { reason });
            }
            Err(Halt::Because(_) | Halt::Told) => {}
        }
    }

    fn record(&self) -> Result<EndRecord, Halt> {
        let knobs = Knobs::apply(&self.prepare.device, self.prepare.conditions.offloads).map_err(Halt::Because)?;
        let Ready { in_force, flow } = self.meet()?;
        let handle = flow.handle().map_err(|error| Halt::Because(format!("keep a handle of the socket: {error}")))?;
        *self.brake.socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
        self.outbox.send(&FromAgent::Ready { in_force: in_force.clone(), offloads: knobs.offloads.clone() });
        let Command::Start(start) = self.next_command()? else {
            return Err(Halt::Because("told to finish before the start".into()));
        };
        let traffic = Traffic::spawn(flow, self.brake.control.clone(), self.prepare.cpus.clone(), start.begin_ns);
        let watched = traffic.watch(start, &self.prepare, &self.outbox).map_err(Halt::Because)?;
        self.finish(traffic, watched, in_force, &knobs)
    }

    fn meet(&self) -> Result<Ready, Halt> {
        let Prepare { role, conditions, token, .. } = &self.prepare;
        match role {
            Role::Sender => {
                let peer = self.prepare.connect_to.ok_or_else(|| Halt::Because("a sender without a peer".into()))?;
                Ok(traffic::connect(conditions, peer, *token, MEETING)?)
            }
            Role::Receiver => {
                let address = self.prepare.listen_on.unwrap_or(IpAddr::from([0; 4]));
                let pending = traffic::listen(conditions, address, *token)?;
                self.outbox.send(&FromAgent::Listening { address: pending.address() });
                Ok(pending.accept(MEETING)?)
            }
        }
    }

    fn next_command(&self) -> Result<Command, Halt> {
        use mpsc::RecvTimeoutError::{Disconnected, Timeout};
        self.commands.recv_timeout(NEXT_WORD).map_err(|error| match error {
            Timeout => Halt::Because(format!("the controller said nothing for {NEXT_WORD:?}")),
            Disconnected => Halt::Told,
        })
    }

    /// A sender is done when its loop is; a receiver hears first how much there was to receive.
    fn finish(
        &self,
        traffic: Traffic,
        watched: Watched,
        in_force: Vec<InForce>,
        knobs: &Knobs,
    ) -> Result<EndRecord, Halt> {
        let mut sent = Sent::default();
        if self.prepare.role == Role::Receiver {
            let Command::Finish(told) = self.next_command()? else {
                return Err(Halt::Because("told to start twice".into()));
            };
            sent = told;
            self.brake.control.expect_messages(sent.total);
        }
        let pinned_cpus = watched.pinned_cpus;
        let flow = traffic.join().map_err(Halt::Because)?;
        let outcome = flow.outcome(sent);
        Ok(EndRecord {
            role: self.prepare.role,
            in_force,
            offloads: knobs.offloads.clone(),
            pinned_cpus,
            window_begin_ns: watched.window_begin_ns,
            window_end_ns: watched.window_end_ns,
            counts: self.brake.control.counts(),
            sequence: outcome.sequence,
            tcp_info: outcome.tcp_info,
            ticks_per_second: probe::cpu::ticks_per_second(),
            samples: watched.samples,
        })
    }
}
