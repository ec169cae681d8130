//! The transport between the controller and its agents: messages in both directions, and the time.

use std::time::Duration;

use bitcost_model::Unavailable;
use bitcost_model::protocol::{FromAgent, ToAgent};
use bitcost_model::record::Role;

use crate::endpoint::Endpoint;
use crate::error::AgentEnd;

/// Starts agents, carries messages and keeps time. [`crate::Processes`] is the real one; tests use
/// one with scripted agents and a virtual clock.
pub trait Transport {
    fn start(
        &mut self,
        agent: AgentId,
        endpoint: &mut Endpoint,
    ) -> Result<Box<dyn Link>, Unavailable>;

    /// The next message of any agent; absent when none arrived within `limit`.
    fn receive(&mut self, limit: Duration) -> Option<Incoming>;

    fn now(&self) -> Duration;

    fn sleep(&mut self, length: Duration);
}

pub trait Link {
    /// Sends a message. A failure is not reported here: [`Transport::receive`] returns the agent's
    /// end.
    fn send(&mut self, message: &ToAgent);

    /// The way in which the agent's process ended, in words; absent while it runs.
    fn ending(&mut self) -> Option<String>;

    /// Ends the process: at once, or by closing its input so that it first restores its host.
    fn end(&mut self, at_once: bool);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentId {
    pub role: Role,
    /// The number of agents that were started before it: messages of an earlier one are dropped.
    pub generation: u32,
}

/// A message of an agent, or the reason why no more will come.
pub struct Incoming {
    pub agent: AgentId,
    /// The message; an error is the last item of an agent.
    pub content: Result<FromAgent, AgentEnd>,
}
