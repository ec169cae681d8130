//! The time between two blocks that are an interval apart: agents keep their leases, or leave hosts
//! that others wait for.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bitcost_model::protocol::FromAgent;
use bitcost_model::record::Role;

use super::{Pair, ROLES, slot};
use crate::error::{ControllerError, WaitError};

/// The shortest wait in which agents leave hosts that others wait for.
const LEAVE: Duration = Duration::from_secs(10);

impl Pair {
    /// Waits until `due` on the transport's clock, and returns whether both agents are still there
    /// and well.
    pub fn rest(&mut self, due: Duration, stop: &AtomicBool) -> Result<bool, ControllerError> {
        let is_long = due.saturating_sub(self.transport.now()) >= LEAVE;
        for role in ROLES {
            if is_long && self.endpoint(role).is_shared {
                self.agents[slot(role)] = None;
            }
        }
        let mut is_well = true;
        while self.transport.now() < due {
            match self.next(due, "the next block", stop, Role::Sender) {
                Err(WaitError::Stopped) => return Err(ControllerError::Stopped),
                Ok((from, Err(_))) => self.agents[slot(from)] = None,
                Ok((_, Ok(FromAgent::Failed { .. }))) => is_well = false,
                // A silent agent is dropped there.
                Ok(_) | Err(_) => {}
            }
        }
        Ok(is_well && self.agents.iter().all(Option::is_some))
    }

    /// The time on the transport's clock.
    pub fn now(&self) -> Duration {
        self.transport.now()
    }
}
