//! After a run that failed: both agents at rest, and back where they are lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use model::record::Role;
use wire::{FromAgent, ToAgent};

use super::{ANSWER, LOOK, Pair, ROLES, WaitError, slot};
use crate::DriveError;

/// Time between two attempts to reach a host again.
const PAUSE: Duration = Duration::from_secs(1);

impl Pair {
    /// Brings both agents to rest after a failed run; one that is gone or does not come to rest is replaced. What keeps
    /// it waiting is told to `tell`.
    pub fn recover(
        &mut self,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(Role, &str) -> Result<(), DriveError>,
    ) -> Result<(), DriveError> {
        // Both rest before one is started: what the other says about the failed run is heard here.
        for role in ROLES {
            self.send(role, &ToAgent::Stop);
            let is_gone = self.links[slot(role)].is_none();
            if is_gone || self.wait_past_failures(role, ANSWER).is_err() {
                self.links[slot(role)] = None;
            }
        }
        for role in ROLES {
            // Where no agent could be started any more the place itself is gone, and no run has a chance.
            (self.ends.way(role).command)(self.program.as_deref()).map_err(|reason| self.agent_error(role, reason))?;
        }
        let (began, mut told) = (Instant::now(), String::new());
        while let Some(role) = ROLES.into_iter().find(|role| self.links[slot(*role)].is_none()) {
            let reason = match self.start(role, stop) {
                Ok(()) => continue,
                Err(DriveError::Agent { reason, .. }) if began.elapsed() < self.ends.way(role).patience => reason,
                Err(error) => return Err(error),
            };
            self.links[slot(role)] = None;
            if told != reason {
                tell(role, &reason)?;
                told = reason;
            }
            self.pause(stop)?;
        }
        Ok(())
    }

    /// A pause in which whatever agent there is hears that its controller lives.
    fn pause(&mut self, stop: &AtomicBool) -> Result<(), DriveError> {
        let deadline = Instant::now() + PAUSE;
        while Instant::now() < deadline {
            if stop.load(Ordering::Relaxed) {
                return Err(DriveError::Stopped);
            }
            self.renew();
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    fn wait_past_failures(&mut self, role: Role, patience: Duration) -> Result<(), WaitError> {
        let deadline = Instant::now() + patience;
        let never = AtomicBool::new(false);
        loop {
            let next = match self.next(deadline, "rest", &never, role) {
                // The other one was lost meanwhile.
                Err(WaitError::Lost(_)) if self.links[slot(role)].is_some() => continue,
                next => next?,
            };
            match next {
                (from, Ok(FromAgent::Stopped)) if from == role => return Ok(()),
                (from, Err(reason)) if from == role => return Err(WaitError::Failed(reason)),
                (from, Err(_)) => self.links[slot(from)] = None,
                _ => {}
            }
        }
    }
}
