//! The service: listens, and gives each connection a thread of bounded life and number.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use bitcost_model::Unavailable;

use crate::event::Event;
use crate::fingerprint::Fingerprint;
use crate::fronts::Give;
use crate::lobby;
use crate::opening::{self, Accepted};
use crate::own_key::OwnKey;
use crate::places::Seen;
use crate::queue::{Lengths, Queue};
use crate::shared::{AgentCommand, Shared};
use crate::store::Store;

/// The stack of a connection's thread, in bytes.
const STACK: usize = 1 << 20;

/// Connections that the kernel keeps until they are taken, as far as `net.core.somaxconn` allows.
const BACKLOG: i32 = 4096;

/// Events that may wait to be told; a connection waits for room.
const EVENTS_MAX: usize = 256;

/// A service that listens.
pub struct Service {
    listener: TcpListener,
    store: Store,
    own: OwnKey,
    agent: AgentCommand,
    give: Give,
    queue: Arc<Queue>,
    stop: Arc<AtomicBool>,
}

impl Service {
    /// Listens at an address, with the key and the keys of a folder, until `stop` is set. This number
    /// of tests that measure no cost take place at the same time; with 0 they wait as all others.
    ///
    /// # Errors
    /// A sentence: the folder cannot be used, or the address not bound.
    pub fn open(
        address: SocketAddr,
        folder: &Path,
        agent: AgentCommand,
        give: Give,
        no_cost_max: usize,
        stop: Arc<AtomicBool>,
    ) -> Result<Service, (Unavailable, Option<io::Error>)> {
        let store = Store::open(folder).map_err(|why| (why, None))?;
        let own = OwnKey::of_folder(folder).map_err(|why| (why, None))?;
        let bind = || {
            let listener = TcpListener::bind(address)?;
            // Called a second time only to let more connections wait.
            rustix::net::listen(&listener, BACKLOG)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listener = bind().map_err(|error: io::Error| {
            let why = Unavailable(format!("cannot listen at {address}: {error}"));
            (why, Some(error))
        })?;
        Ok(Service {
            listener,
            store,
            own,
            agent,
            give,
            queue: Arc::new(Queue::new(no_cost_max)),
            stop,
        })
    }

    /// The address at which it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The fingerprint of its key.
    pub fn fingerprint(&self) -> Fingerprint {
        self.own.fingerprint
    }

    /// Its keys and links.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Tells at any time how many tests take place and wait.
    pub fn lengths(&self) -> impl Fn() -> Lengths + Send + Sync + 'static {
        let queue = self.queue.clone();
        move || queue.lengths()
    }

    /// Serves until it is stopped. All agents are gone when this returns. `tell` must not wait long:
    /// connections wait for it.
    ///
    /// # Errors
    /// A sentence, when TLS cannot be set up.
    pub fn serve(self, mut tell: impl FnMut(Event)) -> Result<(), Unavailable> {
        let (events, told) = sync_channel(EVENTS_MAX);
        let seen = Seen::default();
        for (key, from) in self.store.seen_from() {
            seen.note(key, from);
        }
        let shared = Arc::new(Shared {
            store: self.store,
            own: self.own,
            give: self.give,
            queue: self.queue,
            pending: Arc::default(),
            seen,
            agent: self.agent,
            events,
            stop: self.stop,
        });
        let accepting = {
            let (listener, shared) = (self.listener, shared.clone());
            std::thread::spawn(move || accept(&listener, &shared))
        };
        drop(shared);
        // The channel ends with the last connection.
        for event in told {
            tell(event);
        }
        accepting
            .join()
            .map_err(|_| Unavailable("the service failed".to_owned()))
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut connections: Vec<JoinHandle<()>> = Vec::new();
    lobby::receive(listener, shared, |accepted| {
        connections.retain(|connection| !connection.is_finished());
        connections.extend(start(shared.clone(), accepted));
    });
    for connection in connections {
        // A connection that panicked has ended, and no other with it.
        let _ = connection.join();
    }
}

fn start(shared: Arc<Shared>, accepted: Accepted) -> Option<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("connection".to_owned())
        .stack_size(STACK)
        .spawn(move || opening::serve(&shared, accepted))
        .ok()
}
