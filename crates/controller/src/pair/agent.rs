//! The controller's state of one agent: its link, and the time of its last message.

use std::time::Duration;

use bitcost_model::protocol::{FromAgent, ToAgent};

use crate::error::AgentEnd;
use crate::transport::{AgentId, Link};

/// The time that an agent, and the program that starts it, may take for a first keep-alive message, and between two of them
/// until it greets: ssh takes the last 2 MB of a copy of the program at once, which are under way for a minute or two over a
/// slow connection.
const GREETING: [Duration; 2] = [Duration::from_secs(20), Duration::from_secs(120)];

pub struct Agent {
    pub id: AgentId,
    link: Box<dyn Link>,
    /// The time of the last message, on the transport's clock.
    heard: Duration,
    /// Whether it sent any message of the control protocol other than a keep-alive message.
    pub has_spoken: bool,
    /// Whether it sent any message.
    is_alive: bool,
    pub is_abandoned: bool,
}

impl Agent {
    pub fn new(id: AgentId, link: Box<dyn Link>, now: Duration) -> Agent {
        Agent {
            id,
            link,
            heard: now,
            has_spoken: false,
            is_alive: false,
            is_abandoned: false,
        }
    }

    pub fn send(&mut self, message: &ToAgent) {
        self.link.send(message);
    }

    pub fn hear(&mut self, content: &Result<FromAgent, AgentEnd>, now: Duration) {
        (self.heard, self.is_alive) = (now, true);
        self.has_spoken |= matches!(content, Ok(message) if *message != FromAgent::Alive);
    }

    /// Time since its last message, where it exceeds `limit`, or until it greets what it may take.
    pub fn silence(&self, now: Duration, limit: Duration) -> Option<Duration> {
        let silence = now.saturating_sub(self.heard);
        let limit = match self.has_spoken {
            true => limit,
            false => GREETING[usize::from(self.is_alive)],
        };
        (silence > limit).then_some(silence)
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
