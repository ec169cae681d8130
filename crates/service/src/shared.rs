//! What all connections of a service share, and what they tell its user.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use crate::key::OwnKey;
use crate::message::Refused;
use crate::policy::Rules;
use crate::queue::Queue;
use crate::signing::StartFront;

/// Makes the command that starts an agent on its standard input and output.
pub type AgentCommand = Box<dyn Fn() -> Command + Send + Sync>;

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

pub struct Shared {
    pub own: OwnKey,
    pub rules: Rules,
    pub agent: AgentCommand,
    pub front: StartFront,
    pub queue: Queue,
    pub events: SyncSender<Event>,
    pub stop: Arc<AtomicBool>,
}

impl Shared {
    pub fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
