//! Runs that are made again, because the machine was in another state than the study's.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bitcost_model::event::Event;
use bitcost_model::plan::{Plan, PlannedRun};
use bitcost_model::protocol::{FromAgent, ToAgent};
use bitcost_model::record::Role;

use super::{Session, emit};
use crate::error::ControllerError;
use crate::pair::pick;
use crate::run::Sink;

/// The time that an agent may take to measure a distance.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time between two looks at whether the study's state is back.
const LOOK: Duration = Duration::from_millis(250);

impl Session<'_> {
    /// Repeats those of these runs that were made in another state, where the study's is back; with
    /// `waits`, also once it comes back. Ends when nothing more may be spent, or the user stops it:
    /// each of these runs has a result.
    pub(super) fn repeat(
        &mut self,
        plan: &Plan,
        runs: &[PlannedRun],
        waits: bool,
        sink: &mut Sink,
    ) -> Result<(), ControllerError> {
        // CPUs that were looked at and are not back.
        let mut away = Vec::new();
        for planned in runs {
            let time = plan.run_time(planned.cell);
            while let Some(reason) = self.watch.other(planned.index) {
                let start = self.pair.now();
                let cpus = self.watch.far_cpus(planned.index);
                let is_away = cpus.is_some_and(|cpus| away.contains(&cpus));
                if self.watch.left(start) < time || (is_away && !waits) {
                    break;
                }
                let is_back = self.repeat_once(plan, planned, reason, sink);
                let is_back = match is_back {
                    Err(ControllerError::Stopped) => return Ok(()),
                    Err(error) if self.may_return(&error) => return Ok(()),
                    is_back => is_back?,
                };
                if !is_back && waits {
                    self.wait(planned.index, is_away, sink)?;
                }
                if !is_back && !is_away {
                    away.extend(cpus);
                }
                self.watch.spent += self.pair.now().saturating_sub(start);
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if !waits {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Repeats a run if the study's state is back, and returns whether it is.
    fn repeat_once(
        &mut self,
        plan: &Plan,
        planned: &PlannedRun,
        reason: String,
        sink: &mut Sink,
    ) -> Result<bool, ControllerError> {
        self.settle(sink)?;
        if !self.is_back(planned.index)? {
            return Ok(false);
        }
        let run = planned.index;
        emit(sink, Event::RunRepeated { run, reason })?;
        self.watch.repeated += 1;
        self.try_with_twin(plan, planned, sink)?;
        Ok(true)
    }

    /// Waits a little for the state in which a run is to be repeated; says so the first time.
    fn wait(&mut self, run: u32, is_known: bool, sink: &mut Sink) -> Result<(), ControllerError> {
        let now = self.pair.now();
        if !is_known {
            let at_most_ms = self.watch.left(now).as_millis() as u64;
            emit(sink, Event::StateAwaited { run, at_most_ms })?;
        }
        match self.pair.rest(now + LOOK) {
            Ok(is_well) => self.is_upset |= !is_well,
            Err(ControllerError::Stopped) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Whether the CPUs that were at another distance in a run are now at the study's. True where the
    /// distance was not what differed.
    fn is_back(&mut self, run: u32) -> Result<bool, ControllerError> {
        let Some(cpus) = self.watch.far_cpus(run) else {
            return Ok(true);
        };
        self.pair.send(Role::Sender, &ToAgent::Distance { cpus });
        let what = "how far two CPUs are from each other";
        let pick = pick!(FromAgent::Distance { round_trip_ns } => round_trip_ns);
        let now = match self.pair.wait(Role::Sender, PATIENCE, what, pick) {
            Ok(now) => now.map(f64::from),
            Err(error) => {
                error.told()?;
                self.is_upset = true;
                None
            }
        };
        let known = self.watch.distance(cpus);
        Ok(now.zip(known).is_some_and(|(now, known)| known.has(now)))
    }
}
