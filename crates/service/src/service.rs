//! The service: listens, and gives each connection a thread of bounded life and number.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bitcost_sys::process::wait_ready;
use bitcost_sys::socket::{TCP_MAXSEG, is_passing, set_int};
use rustix::event::{PollFd, PollFlags};

use crate::connection::{self, Accepted};
use crate::front::OPENING;
use crate::key::OwnKey;
use crate::places::{PLACES_MAX, Places};
use crate::policy::Rules;
use crate::queue::Queue;
use crate::shared::{AgentCommand, Event, Shared};
use crate::signing::StartFront;

const STACK: usize = 1 << 20;

/// Connections that the kernel keeps until they are taken, as far as `net.core.somaxconn` allows.
const BACKLOG: i32 = 4096;

/// Most connections that have a thread: those that hold a place, and some that have the link or are about to end.
const CONNECTIONS_MAX: usize = PLACES_MAX + 16;

/// Events that may wait to be told; a connection waits for room.
const EVENTS_MAX: usize = 256;

const LOOK: Duration = Duration::from_millis(100);

/// A pause where no connection can be taken, such as for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// The most bytes of a segment of control connections, in both directions: they pass where full packets vanish.
const SEGMENT: i32 = 1000;

pub struct Service {
    listener: TcpListener,
}

impl Service {
    pub fn open(address: SocketAddr) -> io::Result<Service> {
        let listener = TcpListener::bind(address)?;
        set_int(&listener, TCP_MAXSEG, SEGMENT)?;
        // Called a second time only to let more connections wait.
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        Ok(Service { listener })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves whoever shows the link of this key, by these rules, until `stop` is set. All agents are gone when this returns.
    /// `tell` must not wait long: connections wait for it.
    pub fn serve(
        self,
        (own, rules): (OwnKey, Rules),
        agent: AgentCommand,
        front: StartFront,
        stop: Arc<AtomicBool>,
        tell: impl FnMut(Event),
    ) {
        let (events, told) = sync_channel(EVENTS_MAX);
        let shared = Arc::new(Shared {
            own,
            rules,
            agent,
            front,
            queue: Queue::default(),
            events,
            stop,
        });
        let accepting = std::thread::spawn(move || accept(&self.listener, &shared));
        // The channel ends with the last connection.
        told.into_iter().for_each(tell);
        let _ = accepting.join();
    }
}

/// Takes connections until the service is stopped, and waits for their ends.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let places = Arc::<Places>::default();
    let mut connections: Vec<JoinHandle<()>> = Vec::new();
    while !shared.is_stopping() {
        // A thread that is joined is gone; one that is only finished may last a little longer.
        for ended in connections.extract_if(.., |connection| connection.is_finished()) {
            let _ = ended.join();
        }
        let mut fds = [PollFd::new(listener, PollFlags::IN)];
        if connections.len() >= CONNECTIONS_MAX || wait_ready(&mut fds, Some(LOOK)).is_err() {
            std::thread::sleep(PAUSE);
            continue;
        }
        let accepted = listener.accept().and_then(|(socket, peer)| {
            Ok(Accepted {
                admitted: places.admit(peer.ip(), &socket)?,
                socket,
                peer,
                until: Instant::now() + OPENING,
            })
        });
        match accepted {
            Ok(accepted) => connections.extend(start(shared.clone(), accepted)),
            Err(error) if is_passing(&error) => {}
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
    places.end();
    for connection in connections {
        // A connection that panicked has ended, and no other with it.
        let _ = connection.join();
    }
}

fn start(shared: Arc<Shared>, accepted: Accepted) -> Option<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("connection".to_owned())
        .stack_size(STACK)
        .spawn(move || connection::serve(&shared, accepted))
        .ok()
}
