//! The only loop: next run, both agents, events out.
//!
//! It knows agents by their control protocol alone, and how to start one by what [`Way`] says. It
//! writes nothing and shows nothing: every event goes to the sink that it is given.

mod idle;
mod link;
mod pair;
mod run;

use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::net::IpAddr;
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use model::conditions::Conditions;
use model::event::{EndDescription, Event, FailureKind};
use model::plan::Plan;
use model::record::{InForce, Role};
use wire::Route;

pub use crate::link::OUTPUT_ENDED;
use crate::pair::Pair;
use crate::run::RunError;

/// How an agent is started and what it is told about its place.
pub struct Way {
    /// Where it is, for people: `netns:h1`.
    pub place: String,
    /// Makes the command that starts the agent and carries its standard input and output.
    pub command: Box<Start>,
    /// The interface towards the peer.
    pub device: String,
    /// The addresses of that interface; the first one is used where a run asks for none.
    pub addresses: Vec<IpAddr>,
    /// CPUs for the traffic's thread; empty: any.
    pub cpus: Vec<u32>,
    /// How a command that ended is told; absent: by its exit status alone, and it shares this program's standard error.
    pub explain: Option<Explain>,
    /// What is said to the command before it becomes an agent; absent: nothing, it is one at once.
    pub opening: Option<Opening>,
    /// How long an agent that was lost is tried to be started again; zero: once.
    pub patience: Duration,
}

impl Way {
    /// A way that needs nothing but its command.
    pub fn new(place: String, command: impl FnMut(Option<&str>) -> Result<Command, String> + 'static) -> Way {
        Way {
            place,
            command: Box::new(command),
            device: String::new(),
            addresses: Vec::new(),
            cpus: Vec::new(),
            explain: None,
            opening: None,
            patience: Duration::ZERO,
        }
    }
}

/// Makes a command that starts an agent: of the program that a run names ([`Conditions::program`]), else of this one.
pub type Start = dyn FnMut(Option<&str>) -> Result<Command, String>;

/// Tells how a command ended, from its exit code (absent after a signal) and the end of what it wrote to standard error.
pub type Explain = Rc<dyn Fn(Option<i32>, &str) -> String>;

/// Speaks with a command until it is an agent of the program that is named, over its input and output, and calls the
/// last argument now and then to show that it goes on. It may say [`OUTPUT_ENDED`] where the command has ended: its end is then told.
pub type Opening =
    Arc<dyn Fn(Option<&str>, &mut dyn Write, &mut dyn BufRead, &mut dyn FnMut()) -> Result<(), String> + Send + Sync>;

/// Both ways.
pub struct Ends {
    /// To the sender.
    pub sender: Way,
    /// To the receiver.
    pub receiver: Way,
}

impl Ends {
    fn way(&mut self, role: Role) -> &mut Way {
        match role {
            Role::Sender => &mut self.sender,
            Role::Receiver => &mut self.receiver,
        }
    }
}

/// Why an execution cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// An agent could not be started or does not answer.
    #[error("the agent of the {role} at {place}: {reason}", role = role.name())]
    Agent {
        /// Which one.
        role: Role,
        /// Where it is.
        place: String,
        /// What was asked and what happened.
        reason: String,
    },
    /// The sink refused an event.
    #[error("{0}")]
    Sink(String),
    /// Stopped by the user before a run began.
    #[error("stopped")]
    Stopped,
}

/// Takes each event as it happens.
pub type Sink<'a> = dyn FnMut(Event) -> Result<(), String> + 'a;

/// How an execution came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every run was tried.
    Complete,
    /// The user stopped it.
    Interrupted,
}

/// Makes what lies between the ends as a run asks, and tells what is now in force. The reason, where it cannot.
pub type Between = Box<dyn FnMut(&Conditions) -> Result<Vec<InForce>, String>>;

/// Both agents, started and known.
pub struct Session<'a> {
    pair: Pair,
    between: Option<Between>,
    stop: &'a AtomicBool,
    /// The last run failed: both agents must come to rest before the next one.
    is_upset: bool,
}

impl<'a> Session<'a> {
    /// Starts both agents. When `stop` becomes true, whatever goes on ends soon.
    ///
    /// # Errors
    /// When an agent cannot be started or speaks another version.
    pub fn open(ends: Ends, stop: &'a AtomicBool) -> Result<Session<'a>, DriveError> {
        Ok(Session { pair: Pair::open(ends, stop)?, between: None, stop, is_upset: false })
    }

    /// Before each run, has what lies between the ends made as it asks.
    pub fn set_between(&mut self, between: Between) {
        self.between = Some(between);
    }

    /// The way to the host of one end: its device, addresses and CPUs may still be set.
    pub fn way(&mut self, role: Role) -> &mut Way {
        self.pair.way(role)
    }

    /// Starts agents of another program at both ends, so that it is known that it can play them. The next run starts
    /// those that it asks for.
    ///
    /// # Errors
    /// When one cannot be started or speaks another version.
    pub fn try_program(&mut self, program: &str) -> Result<(), DriveError> {
        self.pair.play_by(Some(program), self.stop)
    }

    /// How the host of one end would send to an address.
    ///
    /// # Errors
    /// When it has no route there.
    pub fn route(&mut self, role: Role, to: IpAddr) -> Result<Route, DriveError> {
        self.pair.route(role, to, self.stop)
    }

    /// The addresses of an interface of one end's host.
    ///
    /// # Errors
    /// When it has no such interface.
    pub fn addresses(&mut self, role: Role, device: &str) -> Result<Vec<IpAddr>, DriveError> {
        self.pair.addresses(role, device, self.stop)
    }

    /// What both ends are.
    ///
    /// # Errors
    /// When an agent cannot tell.
    pub fn describe(&mut self) -> Result<Vec<EndDescription>, DriveError> {
        [Role::Sender, Role::Receiver].into_iter().map(|role| self.pair.describe(role, self.stop)).collect()
    }

    /// Executes the runs of `plan` that are not in `done`, in order.
    ///
    /// # Errors
    /// When an agent cannot be brought back, or the sink refuses an event. A run that fails is an
    /// event, no error.
    pub fn execute(&mut self, plan: &Plan, done: &BTreeSet<u32>, sink: &mut Sink) -> Result<Ending, DriveError> {
        self.execute_until(plan, done, sink, &mut |_| Ok(false))
    }

    /// As [`Session::execute`]; before the first run of each block `enough` is asked, with the number of blocks that are
    /// complete, whether these are enough.
    ///
    /// # Errors
    /// As [`Session::execute`], and what `enough` says.
    pub fn execute_until(
        &mut self,
        plan: &Plan,
        done: &BTreeSet<u32>,
        sink: &mut Sink,
        enough: &mut dyn FnMut(u32) -> Result<bool, String>,
    ) -> Result<Ending, DriveError> {
        let mut block = None;
        for planned in plan.runs.iter().filter(|run| !done.contains(&run.index)) {
            if self.stopped() {
                return Ok(Ending::Interrupted);
            }
            if block.replace(planned.block) != Some(planned.block) {
                if enough(planned.block).map_err(DriveError::Sink)? {
                    emit(sink, Event::ExecutionEnded { at: now(), enough_blocks: Some(planned.block) })?;
                    return Ok(Ending::Complete);
                }
                self.pair.idle = None;
            }
            match self.settle(sink) {
                Err(DriveError::Stopped) => return Ok(Ending::Interrupted),
                settled => settled?,
            }
            emit(sink, Event::RunBegan { run: planned.index, at: now() })?;
            let conditions = &plan.cells[planned.cell].conditions;
            let ready = self.pair.play_by(conditions.program.as_deref(), self.stop).map_err(RunError::from);
            let measured = ready.and_then(|()| idle::measured(&mut self.pair, plan.idle_baseline(), self.stop));
            match measured.and_then(|()| self.one(planned.index, conditions, sink)) {
                Ok(ended) => emit(sink, ended)?,
                Err(RunError::Stopped) => {
                    let reason = "stopped by the user".to_owned();
                    emit(sink, Event::RunFailed { run: planned.index, kind: FailureKind::Interrupted, reason })?;
                    return Ok(Ending::Interrupted);
                }
                Err(RunError::Failed(reason)) => self.fail(planned.index, FailureKind::Failed, reason, sink)?,
                Err(RunError::Lost(reason)) => self.fail(planned.index, FailureKind::Lost, reason, sink)?,
                Err(RunError::Sink(reason)) => return Err(DriveError::Sink(reason)),
            }
        }
        emit(sink, Event::ExecutionEnded { at: now(), enough_blocks: None })?;
        Ok(Ending::Complete)
    }

    fn fail(&mut self, run: u32, kind: FailureKind, reason: String, sink: &mut Sink) -> Result<(), DriveError> {
        self.is_upset = true;
        emit(sink, Event::RunFailed { run, kind, reason })
    }

    /// Brings both agents to rest after a run that failed, and back where they are lost.
    fn settle(&mut self, sink: &mut Sink) -> Result<(), DriveError> {
        if !self.is_upset {
            return Ok(());
        }
        let mut tell = |role, reason: &str| emit(sink, Event::Reconnecting { role, reason: reason.to_owned() });
        self.pair.recover(self.stop, &mut tell)?;
        self.is_upset = false;
        Ok(())
    }

    /// One run, on a path that is as it asks.
    fn one(&mut self, run: u32, conditions: &Conditions, sink: &mut Sink) -> Result<Event, RunError> {
        let in_force = match &mut self.between {
            Some(between) => between(conditions).map_err(RunError::Failed)?,
            None if conditions.emulator_queue_limit.is_some() => {
                let cannot = "emulator_queue_limit is for labs: between these hosts no queue of bitcost's delays";
                return Err(RunError::Failed(cannot.to_owned()));
            }
            None => Vec::new(),
        };
        let mut ended = run::execute(&mut self.pair, run, conditions, self.stop, sink)?;
        if let Event::RunEnded { sender, .. } = &mut ended {
            sender.in_force.extend(in_force);
        }
        Ok(ended)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn emit(sink: &mut Sink, event: Event) -> Result<(), DriveError> {
    sink(event).map_err(DriveError::Sink)
}

/// The local time with its offset (RFC 3339).
pub fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
