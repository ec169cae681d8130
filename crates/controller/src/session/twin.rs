//! Runs that are made once more while the CPUs of the hosts are sampled.

use bitcost_model::event::Event;
use bitcost_model::plan::{Plan, PlannedRun};

use super::{Ending, Session, emit};
use crate::error::{ControllerError, RunError};
use crate::pair::ROLES;
use crate::run::Sink;

impl Session<'_> {
    /// Checks that the CPUs of the hosts can be sampled: by the first agent alone where both
    /// are on one machine. Runs of plans with profiles are made twice from now on.
    pub fn try_profile(&mut self, is_one_machine: bool) -> Result<(), ControllerError> {
        for role in ROLES {
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
        let is_first = is_twin_first(plan.seed, planned.index);
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
        self.pair.is_profiled = ROLES.map(|role| self.profiled.contains(&role));
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

/// Whether the twin of a run comes before it: at random by the seed, so that neither is always made
/// on the machine as the other left it.
fn is_twin_first(seed: u64, run: u32) -> bool {
    let mixed = (seed ^ u64::from(run)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 63 == 1
}

#[cfg(test)]
mod tests {
    use super::is_twin_first;

    #[test]
    fn about_half_of_the_twins_come_first_whatever_the_seed() {
        for seed in [0, 1, 2, u64::MAX] {
            let first = (0..1000).filter(|run| is_twin_first(seed, *run)).count();
            assert!((400..600).contains(&first), "{seed}: {first}");
        }
    }
}
