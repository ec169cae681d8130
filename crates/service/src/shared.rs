//! What all connections of a service share, and what they tell its user.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::front::StartFront;
use crate::key::OwnKey;
use crate::message::Refused;
use crate::places::Places;
use crate::policy::Rules;
use crate::queue::Queue;

/// Makes the command that starts an agent on its standard input and output.
pub type AgentCommand = dyn Fn() -> Command + Sync;

#[derive(Clone, Debug)]
pub enum Event {
    Began {
        peer: SocketAddr,
    },
    Ended {
        peer: SocketAddr,
        runs: u32,
        time: Duration,
        /// Why it ended, if not by the client.
        why: Option<String>,
    },
    Refused {
        peer: SocketAddr,
        why: Refused,
    },
    /// A connection ended before its client said that it has the link.
    Failed {
        peer: SocketAddr,
        reason: String,
    },
}

/// What all connections of a service share.
pub struct Shared<'a> {
    pub own: OwnKey,
    pub rules: Rules,
    pub agent: &'a AgentCommand,
    pub front: &'a StartFront,
    pub queue: Queue,
    pub places: Places,
    pub stop: &'a AtomicBool,
    pub tell: Mutex<&'a mut (dyn FnMut(Event) + Send)>,
}

impl Shared<'_> {
    pub fn tell(&self, event: Event) {
        let mut tell = self.tell.lock().unwrap_or_else(PoisonError::into_inner);
        tell(event);
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
