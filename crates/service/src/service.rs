//! The service: listens, and gives each connection a thread of bounded life and number.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use bitcost_model::client_event::ClientEvent;
use bitcost_model::confinement::Rules;
use bitcost_sys::process::wait_ready;
use bitcost_sys::socket::is_passing;
use rustix::event::{PollFd, PollFlags};
use rustix::net::{SocketAddrAny, SocketFlags, SocketType, socket_with, sockopt};

use crate::connection;
use crate::front::StartFront;
use crate::key::OwnKey;
use crate::places::{PLACES_MAX, Places};
use crate::queue::Queue;
use crate::shared::{AgentCommand, Shared};

const STACK: usize = 1 << 20;

/// Connections that the kernel keeps until they are taken, as far as `net.core.somaxconn` allows.
const BACKLOG: i32 = 4096;

/// Most connections that have a thread: those that hold a place, and some that have the link or are about to end.
const CONNECTIONS_MAX: usize = PLACES_MAX + 16;

const LOOK: Duration = Duration::from_millis(100);

/// A pause where no connection can be taken, such as for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// A service at one port, for connections of clients; its agents take those of data at the same port.
pub struct Service {
    listeners: Vec<TcpListener>,
}

/// A socket at an address which no other program has, or beside the one that `shares` it with its user's processes.
fn bound(address: SocketAddr, kind: SocketType, shares: bool) -> io::Result<OwnedFd> {
    let family = SocketAddrAny::from(address).address_family();
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, kind, flags, None)?;
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
    /// Also when the port cannot be had for data.
    pub fn open(addresses: &[SocketAddr]) -> io::Result<Service> {
        let mut listeners: Vec<TcpListener> = Vec::new();
        let mut port = None;
        for address in addresses {
            let address = SocketAddr::new(address.ip(), port.unwrap_or(address.port()));
            let socket = bound(address, SocketType::STREAM, false)?;
            // From here on agents may listen beside it.
            sockopt::set_socket_reuseport(&socket, true)?;
            rustix::net::listen(&socket, BACKLOG)?;
            let listener = TcpListener::from(socket);
            let address = listener.local_addr()?;
            bound(address, SocketType::DGRAM, false)?;
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
        agent: &AgentCommand,
        front: &StartFront,
        stop: &AtomicBool,
        tell: &mut (dyn FnMut(SocketAddr, ClientEvent) + Send),
    ) {
        let shared = &Shared {
            own,
            rules,
            agent,
            front,
            stop,
            queue: Queue::default(),
            places: Places::default(),
            tell: Mutex::new(tell),
        };
        std::thread::scope(|scope| {
            let mut connections: Vec<ScopedJoinHandle<'_, ()>> = Vec::new();
            while !shared.is_stopping() {
                // A thread that is joined is gone; one that is only finished may last a little longer.
                for ended in connections.extract_if(.., |connection| connection.is_finished()) {
                    let _ = ended.join();
                }
                let mut fds = Vec::new();
                for listener in &self.listeners {
                    fds.push(PollFd::new(listener, PollFlags::IN));
                }
                if connections.len() >= CONNECTIONS_MAX || wait_ready(&mut fds, Some(LOOK)).is_err()
                {
                    std::thread::sleep(PAUSE);
                    continue;
                }
                for listener in &self.listeners {
                    match start(scope, shared, listener) {
                        Ok(connection) => connections.push(connection),
                        Err(error) if is_passing(&error) => {}
                        Err(_) => std::thread::sleep(PAUSE),
                    }
                }
            }
            shared.places.end();
            for connection in connections {
                // A connection that panicked has ended, and no other with it.
                let _ = connection.join();
            }
        });
    }
}

/// Takes a connection, and gives it a thread.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<'_>,
    listener: &TcpListener,
) -> io::Result<ScopedJoinHandle<'scope, ()>> {
    let (socket, peer) = listener.accept()?;
    let listening = listener.local_addr()?;
    let socket = shared.places.admit(peer.ip(), socket);
    std::thread::Builder::new()
        .name("connection".to_owned())
        .stack_size(STACK)
        .spawn_scoped(scope, move || {
            connection::serve(shared, socket, peer, listening);
        })
}
