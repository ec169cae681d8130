//! The controller's state of one agent: its link, and the time of its last message.

use std::time::Duration;

use bitcost_model::protocol::{FromAgent, ToAgent};

use crate::error::AgentEnd;
use crate::transport::{AgentId, Link};

pub struct Agent {
    pub id: AgentId,
    link: Box<dyn Link>,
    /// The time of the last message, on the transport's clock.
    heard: Duration,
    /// Whether it sent any message of the control protocol other than a keep-alive message.
    pub has_spoken: bool,
    pub is_abandoned: bool,
}

impl Agent {
    pub fn new(id: AgentId, link: Box<dyn Link>, now: Duration) -> Agent {
        Agent {
            id,
            link,
            heard: now,
            has_spoken: false,
            is_abandoned: false,
        }
    }

    pub fn send(&mut self, message: &ToAgent) {
        self.link.send(message);
    }

    pub fn hear(&mut self, content: &Result<FromAgent, AgentEnd>, now: Duration) {
        self.heard = now;
        self.has_spoken |= matches!(content, Ok(message) if *message != FromAgent::Alive);
    }

    /// Time since its last message, where it exceeds `limit`; before its first message, where it
    /// exceeds `greeting`.
    pub fn silence(&self, now: Duration, limit: Duration, greeting: Duration) -> Option<Duration> {
        let silence = now.saturating_sub(self.heard);
        (silence > if self.has_spoken { limit } else { greeting }).then_some(silence)
    }

    pub fn ending(&mut self) -> Option<String> {
        self.link.ending()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // An agent without any message has changed nothing; its start may still wait for a user.
        self.link.end(self.is_abandoned || !self.has_spoken);
    }
}
