//! Runs that are made once more while the CPUs of the hosts are sampled.

use bitcost_model::event::Event;
use bitcost_model::plan::{Plan, PlannedRun};
use bitcost_model::record::Role;

use super::{Ending, Session, emit};
use crate::error::{ControllerError, RunError};
use crate::run::Sink;

impl Session<'_> {
    /// Checks that the CPUs of the hosts can be sampled: by the first agent alone where both
    /// are on one machine. Runs of plans with profiles are made twice from now on.
    pub fn try_profile(&mut self, is_one_machine: bool) -> Result<(), ControllerError> {
        for role in Role::ALL {
            let is_twice = is_one_machine && !self.profiled.is_empty();
            if is_twice || !self.pair.endpoint(role).peer.is_bitcost() {
                continue;
            }
            self.pair.try_profile(role)?;
            self.profiled.push(role);
        }
        Ok(())
    }

    /// A run, and its twin before or after it where runs are profiled.
    pub(super) fn try_with_twin(
        &mut self,
        plan: &Plan,
        planned: &PlannedRun,
        sink: &mut Sink,
    ) -> Result<Ending, ControllerError> {
        if !plan.is_profiled || self.profiled.is_empty() {
            return self.try_run(plan, planned, sink);
        }
        // In turns, so that neither is always made on the machine as the other left it.
        let is_first = planned.index % 2 == 1;
        if is_first {
            if self.profile(plan, planned, sink)? == Ending::Interrupted {
                return Ok(Ending::Interrupted);
            }
            self.settle(sink)?;
        }
        match self.try_run(plan, planned, sink)? {
            Ending::Complete if !is_first => self.profile(plan, planned, sink),
            ending => Ok(ending),
        }
    }

    /// The twin of a run. It has one event, its last: nothing of it belongs to the run.
    fn profile(
        &mut self,
        plan: &Plan,
        planned: &PlannedRun,
        sink: &mut Sink,
    ) -> Result<Ending, ControllerError> {
        let run = planned.index;
        let conditions = &plan.cells[planned.cell].conditions;
        let settled = match self.settle(sink) {
            Err(error) if self.may_return(&error) => Err(RunError::Lost(error.to_string().into())),
            settled => Ok(settled?),
        };
        self.pair.is_profiled = Role::ALL.map(|role| self.profiled.contains(&role));
        let made = settled.and_then(|()| self.measure(plan, run, conditions, &mut |_| Ok(())));
        self.pair.is_profiled = [false; 2];
        let event = match made {
            Ok(Event::RunEnded {
                interrupted: Some(reason),
                ..
            }) => {
                self.is_upset = true;
                Event::RunNotProfiled { run, reason }
            }
            Ok(Event::RunEnded {
                run,
                start_uncertainty_us,
                sender,
                receiver,
                ..
            }) => Event::RunProfiled {
                run,
                start_uncertainty_us,
                sender,
                receiver,
            },
            Ok(_) => return Ok(Ending::Complete),
            Err(error) => {
                self.is_upset = true;
                let reason = match error.told() {
                    Err(ControllerError::Stopped) => return Ok(Ending::Interrupted),
                    told => told?.to_string(),
                };
                Event::RunNotProfiled { run, reason }
            }
        };
        emit(sink, event)?;
        Ok(Ending::Complete)
    }
}
