//! What all connections of a service share.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use crate::event::Event;
use crate::fronts::Give;
use crate::own_key::OwnKey;
use crate::pending::Pending;
use crate::places::Seen;
use crate::queue::Queue;
use crate::store::Store;

/// Makes the command that starts an agent on its standard input and output.
pub type AgentCommand = Box<dyn Fn() -> Command + Send + Sync>;

/// What all connections share.
pub struct Shared {
    pub(crate) store: Store,
    pub(crate) own: OwnKey,
    pub(crate) give: Give,
    pub(crate) queue: Arc<Queue>,
    pub(crate) pending: Arc<Pending>,
    pub(crate) seen: Seen,
    pub(crate) agent: AgentCommand,
    pub(crate) events: SyncSender<Event>,
    pub(crate) stop: Arc<AtomicBool>,
}

impl Shared {
    pub(crate) fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn start_agent(&self) -> Result<Child, String> {
        let mut command = (self.agent)();
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
            .spawn()
            .map_err(|error| format!("cannot start an agent: {error}"))
    }
}
