//! Recovery after a failed run: both agents become idle, and lost ones are restarted.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bitcost_model::protocol::{FromAgent, ToAgent};
use bitcost_model::record::Role;

use super::{ANSWER, LOOK, NEVER, Pair};
use crate::error::{ControllerError, RunError};

const PAUSE: Duration = Duration::from_secs(1);

impl Pair<'_> {
    /// Stops both agents after a failed run; an agent that has ended or does not stop is replaced.
    /// Each new reason of a failed attempt is passed to `report`.
    pub fn recover(
        &mut self,
        report: &mut dyn FnMut(Role, &str) -> Result<(), ControllerError>,
    ) -> Result<(), ControllerError> {
        // Both agents stop before one is started: messages about the failed run are received here,
        // also where the user stops the execution.
        let stop = std::mem::replace(&mut self.stop, &NEVER);
        for role in Role::ALL {
            self.send(role, &ToAgent::Stop);
            let is_gone = self.agents[role as usize].is_none();
            if is_gone || self.wait_past_failures(role, ANSWER).is_err() {
                self.agents[role as usize] = None;
            }
        }
        self.stop = stop;
        for role in Role::ALL {
            // Where no command can be made, the lab itself has ended: no run can succeed.
            (self.endpoints[role as usize].command)()
                .map_err(|why| self.agent_error(role, why.0))?;
        }
        let (start, mut reported) = (self.transport.now(), String::new());
        while let Some(role) = Role::ALL
            .into_iter()
            .find(|role| self.agents[*role as usize].is_none())
        {
            let reason = match self.start(role) {
                Ok(()) => continue,
                Err(ControllerError::Agent { reason, .. })
                    if self.transport.now().saturating_sub(start)
                        < self.endpoint(role).patience =>
                {
                    reason
                }
                Err(error) => return Err(error),
            };
            self.agents[role as usize] = None;
            if reported != reason {
                report(role, &reason)?;
                reported = reason;
            }
            self.pause()?;
        }
        Ok(())
    }

    /// A pause in which the lease of every running agent is renewed.
    fn pause(&mut self) -> Result<(), ControllerError> {
        let deadline = self.transport.now() + PAUSE;
        while self.transport.now() < deadline {
            if self.stop.load(Ordering::Relaxed) {
                return Err(ControllerError::Stopped);
            }
            self.renew();
            self.transport.sleep(LOOK);
        }
        Ok(())
    }

    fn wait_past_failures(&mut self, role: Role, patience: Duration) -> Result<(), RunError> {
        let deadline = self.transport.now() + patience;
        loop {
            let next = match self.next(deadline, "its stop", role) {
                // The other agent was lost meanwhile.
                Err(RunError::Lost(_)) if self.agents[role as usize].is_some() => continue,
                next => next?,
            };
            match next {
                (from, Ok(FromAgent::Stopped)) if from == role => return Ok(()),
                (from, Err(end)) if from == role => {
                    return Err(RunError::Failed(end.to_string().into()));
                }
                (from, Err(_)) => self.agents[from as usize] = None,
                _ => {}
            }
        }
    }
}
