//! The runs of a plan, one after the other, on two agents that are restarted where they are lost.

mod twin;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use bitcost_model::Unavailable;
use bitcost_model::conditions::Conditions;
use bitcost_model::constants::MachineConstants;
use bitcost_model::event::{EndpointDescription, Event, FailureKind};
use bitcost_model::plan::{Plan, PlannedRun};
use bitcost_model::record::{InEffect, Role};

use crate::constants;
use crate::endpoint::Endpoints;
use crate::error::{ControllerError, RunError};
use crate::idle;
use crate::pair::Pair;
use crate::process::Processes;
use crate::run::{self, Sink};
use crate::transport::Transport;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Complete,
    Interrupted,
}

pub trait PathControl {
    /// Sets it as a run requests, and returns the values in effect.
    fn set(&mut self, conditions: &Conditions) -> Result<Vec<InEffect>, Unavailable>;

    fn changed(&mut self) -> Vec<InEffect> {
        Vec::new()
    }
}

pub struct Session<'a> {
    pub pair: Pair<'a>,
    /// Sets the network between the endpoints before each run, as the run requests.
    pub path: Option<Box<dyn PathControl>>,
    stop: &'a AtomicBool,
    /// The last run failed: both agents must be idle before the next one.
    is_upset: bool,
    /// The hosts whose CPUs are sampled in runs that are profiled.
    profiled: Vec<Role>,
    /// Whether a run that is ended before its time keeps what was measured, since it is not made again.
    pub keeps_interrupted: bool,
}

impl<'a> Session<'a> {
    /// Starts both agents as processes. When `stop` becomes true, all activity ends soon.
    pub fn open(
        endpoints: Endpoints,
        stop: &'a AtomicBool,
    ) -> Result<Session<'a>, ControllerError> {
        Session::open_over(Box::new(Processes::new()), endpoints, stop)
    }

    pub fn open_over(
        transport: Box<dyn Transport>,
        endpoints: Endpoints,
        stop: &'a AtomicBool,
    ) -> Result<Session<'a>, ControllerError> {
        Ok(Session {
            pair: Pair::open(transport, endpoints, stop)?,
            path: None,
            stop,
            is_upset: false,
            profiled: Vec::new(),
            keeps_interrupted: false,
        })
    }

    pub fn describe(&mut self) -> Result<Vec<EndpointDescription>, ControllerError> {
        let ends = Role::ALL.into_iter();
        ends.map(|role| self.pair.describe(role)).collect()
    }

    /// The constants of each machine, measured one after the other; `is_one_machine` where both
    /// endpoints are on one. To be called while nothing else runs.
    ///
    /// # Errors
    /// When the user stopped the execution. A machine that cannot be measured is in the result,
    /// with its reason, and its agent is restarted before the next run where it is lost.
    pub fn measure_constants(
        &mut self,
        is_one_machine: bool,
    ) -> Result<Vec<MachineConstants>, ControllerError> {
        let machines = constants::measured(&mut self.pair, is_one_machine)?;
        self.is_upset |= machines.iter().any(|machine| machine.host.is_none());
        Ok(machines)
    }

    /// Executes the runs of `plan` that are not in `done`, in order.
    ///
    /// # Errors
    /// When an agent cannot be restarted, or the sink refuses an event. A run that fails is an
    /// event, not an error.
    pub fn execute(
        &mut self,
        plan: &Plan,
        done: &BTreeSet<u32>,
        sink: &mut Sink,
    ) -> Result<Ending, ControllerError> {
        self.execute_until(plan, done, sink, &mut |_| Ok(false))
    }

    /// As [`Session::execute`]; before the first run of each block after those of `done`, `enough` is called with the
    /// number of blocks before it, and the execution ends when it returns true.
    pub fn execute_until(
        &mut self,
        plan: &Plan,
        done: &BTreeSet<u32>,
        sink: &mut Sink,
        enough: &mut dyn FnMut(u32) -> Result<bool, Unavailable>,
    ) -> Result<Ending, ControllerError> {
        let mut block = None;
        let mut enough_blocks = None;
        // Runs that a block with results lacks are made, however many blocks would be enough.
        let made = plan.runs.iter().filter(|run| done.contains(&run.index));
        let last = made.map(|run| run.block).max();
        for planned in plan.runs.iter().filter(|run| !done.contains(&run.index)) {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Ending::Interrupted);
            }
            let before = block.replace(planned.block);
            if before != Some(planned.block) {
                if last.is_none_or(|last| planned.block > last) && enough(planned.block)? {
                    enough_blocks = Some(planned.block);
                    break;
                }
                self.pair.idle = None;
            }
            let ending = match self.settle(sink) {
                Ok(()) => self.try_with_twin(plan, planned, sink)?,
                Err(ControllerError::Stopped) => Ending::Interrupted,
                Err(error) => return Err(error),
            };
            if ending == Ending::Interrupted {
                return Ok(ending);
            }
        }
        let at = now();
        emit(sink, Event::ExecutionEnded { at, enough_blocks })?;
        Ok(Ending::Complete)
    }

    /// Whether a host that is out of reach may come back.
    fn may_return(&mut self, error: &ControllerError) -> bool {
        match error {
            ControllerError::Agent { role, .. } => !self.pair.endpoint(*role).patience.is_zero(),
            ControllerError::Sink(_) | ControllerError::Stopped => false,
        }
    }

    fn try_run(
        &mut self,
        plan: &Plan,
        planned: &PlannedRun,
        sink: &mut Sink,
    ) -> Result<Ending, ControllerError> {
        let run = planned.index;
        emit(sink, Event::RunBegan { run, at: now() })?;
        let conditions = &plan.cells[planned.cell].conditions;
        let (kind, reason) = match self.measure(plan, run, conditions, sink) {
            Ok(ended) => {
                self.is_upset = matches!(
                    ended,
                    Event::RunEnded {
                        interrupted: Some(_),
                        ..
                    }
                );
                emit(sink, ended)?;
                return Ok(match self.is_upset && self.stop.load(Ordering::Relaxed) {
                    true => Ending::Interrupted,
                    false => Ending::Complete,
                });
            }
            Err(RunError::Sink(why)) => return Err(why.into()),
            Err(RunError::Stopped) => (FailureKind::Interrupted, run::STOPPED.to_owned()),
            Err(RunError::Failed(told)) => (FailureKind::Failed, told.to_string()),
            Err(RunError::Lacks(told)) => (FailureKind::HostLacks, told.to_string()),
            Err(RunError::Lost(told)) => (FailureKind::Lost, told.to_string()),
        };
        self.is_upset = true;
        emit(sink, Event::RunFailed { run, kind, reason })?;
        if kind == FailureKind::Interrupted {
            return Ok(Ending::Interrupted);
        }
        Ok(Ending::Complete)
    }

    /// Makes both agents idle after a failed run, and restarts lost ones.
    pub fn settle(&mut self, sink: &mut Sink) -> Result<(), ControllerError> {
        if !self.is_upset {
            return Ok(());
        }
        let mut report = |role, reason: &str| {
            let reason = reason.to_owned();
            emit(sink, Event::Reconnecting { role, reason })
        };
        self.pair.recover(&mut report)?;
        self.is_upset = false;
        Ok(())
    }

    /// One run, with the network set as the run requests: its last event.
    fn measure(
        &mut self,
        plan: &Plan,
        run: u32,
        conditions: &Conditions,
        sink: &mut Sink,
    ) -> Result<Event, RunError> {
        idle::measured(&mut self.pair, plan.idle_baseline())?;
        let in_effect = match &mut self.path {
            Some(path) => path
                .set(conditions)
                .map_err(|why| RunError::Failed(why.0.into()))?,
            None => Vec::new(),
        };
        let keeps = self.keeps_interrupted && !self.pair.is_profiled.contains(&true);
        let mut ended = run::execute(&mut self.pair, run, (conditions, keeps), sink)?;
        if let Event::RunEnded { sender, .. } = &mut ended {
            sender.in_effect.extend(in_effect);
            let changed = self.path.as_mut().map(|path| path.changed());
            sender.in_effect.extend(changed.into_iter().flatten());
        }
        Ok(ended)
    }
}

fn emit(sink: &mut Sink, event: Event) -> Result<(), ControllerError> {
    Ok(sink(event)?)
}

/// The local time with its offset (RFC 3339).
pub fn now() -> String {
    jiff::ZonedDateTime::now()
        .strftime("%Y-%m-%dT%H:%M:%S%:z")
        .to_string()
}
