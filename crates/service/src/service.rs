//! The service: listens, and gives each connection a thread of bounded life and number.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bitcost_sys::process::wait_ready;
use bitcost_sys::socket::is_passing;
use rustix::event::{PollFd, PollFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};

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

/// A service at one port, for connections of clients; its agents take those of data at the same port.
pub struct Service {
    listeners: Vec<TcpListener>,
}

/// A socket at an address which no other program has, or beside the one that `shares` it with its user's processes.
fn bound(address: SocketAddr, kind: SocketType, shares: bool) -> io::Result<OwnedFd> {
    let socket = socket_with(
        match address.is_ipv4() {
            true => AddressFamily::INET,
            false => AddressFamily::INET6,
        },
        kind,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    if kind == SocketType::STREAM {
        sockopt::set_socket_reuseaddr(&socket, true)?;
        sockopt::set_socket_reuseport(&socket, shares)?;
    }
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

impl Service {
    /// Listens at these addresses, at the port of the first.
    ///
    /// # Errors
    /// With the protocol, when the port cannot be had for data, too.
    pub fn open(addresses: &[SocketAddr]) -> Result<Service, (&'static str, io::Error)> {
        let mut listeners: Vec<TcpListener> = Vec::new();
        let mut port = None;
        for address in addresses {
            let address = SocketAddr::new(address.ip(), port.unwrap_or(address.port()));
            let socket = bound(address, SocketType::STREAM, false);
            let listening = socket.and_then(|socket| {
                // From here on agents may listen beside it.
                sockopt::set_socket_reuseport(&socket, true)?;
                rustix::net::listen(&socket, BACKLOG)?;
                Ok(TcpListener::from(socket))
            });
            let listener = listening.map_err(|error| ("TCP", error))?;
            let address = listener.local_addr().map_err(|error| ("TCP", error))?;
            bound(address, SocketType::DGRAM, false).map_err(|error| ("UDP", error))?;
            port = Some(address.port());
            listeners.push(listener);
        }
        Ok(Service { listeners })
    }

    /// Gives its sockets to a user, whose processes may then share the port.
    pub fn give_to(&self, user: u32) -> io::Result<()> {
        let user = Some(rustix::fs::Uid::from_raw(user));
        let mut listeners = self.listeners.iter();
        Ok(listeners.try_for_each(|listener| rustix::fs::fchown(listener, user, None))?)
    }

    /// Whether this process, and so its agents, may bind to the port.
    pub fn check_port(&self) -> io::Result<()> {
        self.addresses()
            .try_for_each(|address| bound(address, SocketType::STREAM, true).map(drop))
    }

    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.listeners
            .iter()
            .filter_map(|listener| listener.local_addr().ok())
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
        let accepting = std::thread::spawn(move || accept(&self.listeners, &shared));
        // The channel ends with the last connection.
        told.into_iter().for_each(tell);
        let _ = accepting.join();
    }
}

/// Takes connections until the service is stopped, and waits for their ends.
fn accept(listeners: &[TcpListener], shared: &Arc<Shared>) {
    let places = Arc::<Places>::default();
    let mut connections: Vec<JoinHandle<()>> = Vec::new();
    while !shared.is_stopping() {
        // A thread that is joined is gone; one that is only finished may last a little longer.
        for ended in connections.extract_if(.., |connection| connection.is_finished()) {
            let _ = ended.join();
        }
        let mut fds: Vec<PollFd> = listeners
            .iter()
            .map(|listener| PollFd::new(listener, PollFlags::IN))
            .collect();
        if connections.len() >= CONNECTIONS_MAX || wait_ready(&mut fds, Some(LOOK)).is_err() {
            std::thread::sleep(PAUSE);
            continue;
        }
        for listener in listeners {
            let accepted = listener.accept().and_then(|(socket, peer)| {
                Ok(Accepted {
                    admitted: places.admit(peer.ip(), &socket)?,
                    listening: listener.local_addr()?,
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
