//! Where the messages of an agent go, which may change while it runs.

use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bitcost_model::protocol::FromAgent;

use crate::error::AgentEnd;
use crate::transport::{AgentId, Incoming};

#[derive(Clone)]
pub struct Route(Arc<Mutex<Target>>);

struct Target {
    agent: AgentId,
    inbox: SyncSender<Incoming>,
    changes: u32,
    is_ended: bool,
}

impl Route {
    pub fn new(agent: AgentId, inbox: SyncSender<Incoming>) -> Route {
        Route(Arc::new(Mutex::new(Target {
            agent,
            inbox,
            changes: 0,
            is_ended: false,
        })))
    }

    fn target(&self) -> MutexGuard<'_, Target> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn lead(&self, agent: AgentId, inbox: SyncSender<Incoming>) {
        let mut target = self.target();
        (target.agent, target.inbox) = (agent, inbox);
        target.changes += 1;
    }

    pub fn is_ended(&self) -> bool {
        self.target().is_ended
    }

    /// Passes on a message, or the reason why no more come; returns false where nobody listens.
    pub fn pass(&self, mut content: Result<FromAgent, AgentEnd>) -> bool {
        loop {
            let (agent, inbox, changes) = {
                let mut target = self.target();
                target.is_ended |= content.is_err();
                (target.agent, target.inbox.clone(), target.changes)
            };
            match inbox.send(Incoming { agent, content }) {
                Ok(()) => return true,
                // The message was led elsewhere while it was passed on.
                Err(unsent) if self.target().changes != changes => content = unsent.0.content,
                Err(_) => return false,
            }
        }
    }
}
