//! The tests that wait for data connections, and to whom each connection belongs.
//!
//! A TCP connection names its test by the cookie. A UDP greeting carries no cookie, so that only
//! one test of each client address waits for greetings at a time.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::protocol::Cookie;

/// A data connection.
pub enum Socket {
    /// Connected; the cookie is read.
    Tcp(TcpStream),
    /// Connected to the client; the greeting is answered.
    Udp(UdpSocket),
}

/// The tests that wait.
#[derive(Default)]
pub struct Registry {
    inner: Mutex<Inner>,
    freed: Condvar,
}

#[derive(Default)]
struct Inner {
    tests: HashMap<Cookie, Awaited>,
    turns: HashMap<IpAddr, Turn>,
}

struct Awaited {
    peer: IpAddr,
    missing: usize,
    taker: Sender<Socket>,
}

/// A test that waits for UDP greetings of its client.
#[derive(Clone)]
pub struct Turn {
    /// The server's side of the control connection, from which the answers are sent.
    pub local: SocketAddr,
    /// Streams to come.
    pub missing: usize,
    /// Takes their sockets.
    pub taker: Sender<Socket>,
}

/// A test's entry, until this is dropped.
pub struct Registered {
    registry: Arc<Registry>,
    cookie: Cookie,
    turn_of: Option<IpAddr>,
}

/// What is to be done with a connection that shows a cookie.
pub enum Belongs {
    /// No test has the cookie: this is a control connection.
    Unknown,
    /// It is a stream of a test.
    To(Sender<Socket>),
    /// A test has the cookie, but this connection is of another host or is one too many.
    Foreign,
}

impl Registry {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a test with the number of TCP streams that its client at this address will make;
    /// absent where another test has the cookie.
    pub fn enter(
        self: &Arc<Self>,
        cookie: Cookie,
        peer: IpAddr,
        missing: usize,
        taker: Sender<Socket>,
    ) -> Option<Registered> {
        let mut inner = self.inner();
        if inner.tests.contains_key(&cookie) {
            return None;
        }
        let awaited = Awaited {
            peer,
            missing,
            taker,
        };
        inner.tests.insert(cookie, awaited);
        Some(Registered {
            registry: self.clone(),
            cookie,
            turn_of: None,
        })
    }

    /// The test of a TCP connection.
    pub fn of_cookie(&self, cookie: &Cookie, peer: IpAddr) -> Belongs {
        match self.inner().tests.get_mut(cookie) {
            None => Belongs::Unknown,
            Some(test) if test.peer == peer && test.missing > 0 => {
                test.missing -= 1;
                Belongs::To(test.taker.clone())
            }
            Some(_) => Belongs::Foreign,
        }
    }

    /// The test that waits for a greeting from this address.
    pub fn of_greeting(&self, peer: IpAddr) -> Option<Turn> {
        let mut inner = self.inner();
        let turn = inner.turns.get_mut(&peer).filter(|turn| turn.missing > 0)?;
        turn.missing -= 1;
        Some(turn.clone())
    }
}

impl Registered {
    /// Waits until no other test of this client waits for greetings, and is then the one that
    /// does. False: it took too long.
    pub fn take_turn(&mut self, peer: IpAddr, turn: Turn, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut inner = self.registry.inner();
        while inner.turns.contains_key(&peer) {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return false;
            };
            let waited = self.registry.freed.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        inner.turns.insert(peer, turn);
        drop(inner);
        self.turn_of = Some(peer);
        true
    }

    /// Lets the next test of this client wait for greetings.
    pub fn end_turn(&mut self) {
        if let Some(peer) = self.turn_of.take() {
            self.registry.inner().turns.remove(&peer);
            self.registry.freed.notify_all();
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.end_turn();
        self.registry.inner().tests.remove(&self.cookie);
    }
}
