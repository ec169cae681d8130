//! A time without a run, in which agents keep their leases.

use std::time::Duration;

use bitcost_model::protocol::FromAgent;
use bitcost_model::record::Role;

use super::{Pair, slot};
use crate::error::{ControllerError, RunError};

impl Pair<'_> {
    /// Waits until `due` on the transport's clock, and returns whether both agents are still there
    /// and well.
    pub fn rest(&mut self, due: Duration) -> Result<bool, ControllerError> {
        let mut is_well = true;
        while self.transport.now() < due {
            match self.next(due, "the next run", Role::Sender) {
                Err(RunError::Stopped) => return Err(ControllerError::Stopped),
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
