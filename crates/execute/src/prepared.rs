//! Both endpoints with their agents started, before the first run.

use bitcost_controller::{ControllerError, Session};
use bitcost_model::event::{EndpointDescription, Event};
use bitcost_model::ping::RttCheck;

use crate::error::ExecuteError;

pub struct Prepared<'a> {
    pub session: Session<'a>,
    pub ends: Vec<EndpointDescription>,
    /// The requests to the lab that are not in effect, and other notes, one sentence each.
    pub notes: Vec<String>,
    /// The requested and the measured round-trip time; absent if the lab requests none.
    pub rtt: Option<RttCheck>,
    pub shared_cpus: bool,
}

impl Prepared<'_> {
    /// Measures the constants of both endpoints' machines; absent if the user stopped it.
    ///
    /// # Errors
    /// Those of the session. A machine that cannot be measured is in the event, with its reason.
    pub fn measure_constants(&mut self) -> Result<Option<Event>, ExecuteError> {
        match self.session.measure_constants(self.shared_cpus) {
            Err(ControllerError::Stopped) => Ok(None),
            measured => Ok(Some(Event::Constants {
                machines: measured?,
            })),
        }
    }

    pub fn is_one_host(&self) -> bool {
        self.ends.iter().all(|end| end.place == self.ends[0].place)
    }
}
