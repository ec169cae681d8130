//! What all connections of a service share.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bitcost_model::client_event::ClientEvent;
use bitcost_model::confinement::{Confinement, Rules};

use crate::front::StartFront;
use crate::key::OwnKey;
use crate::places::Places;
use crate::queue::Queue;

/// Makes the command that starts an agent, held to this, on its standard input and output. On standard error it says `run` for
/// each run that it starts, `refused: ` and why for each message that it refuses, and at last why it ends, unless its client
/// ended it.
pub type AgentCommand = dyn Fn(&Confinement) -> Command + Sync;

/// What all connections of a service share.
pub struct Shared<'a> {
    pub own: OwnKey,
    pub rules: Rules,
    pub agent: &'a AgentCommand,
    pub front: &'a StartFront,
    pub queue: Queue,
    pub places: Places,
    pub stop: &'a AtomicBool,
    pub tell: Mutex<&'a mut (dyn FnMut(SocketAddr, ClientEvent) + Send)>,
}

impl Shared<'_> {
    pub fn tell(&self, peer: SocketAddr, event: ClientEvent) {
        let mut tell = self.tell.lock().unwrap_or_else(PoisonError::into_inner);
        tell(peer, event);
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
