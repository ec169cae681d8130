//! The tests that wait for data connections, and to whom each connection belongs.
//!
//! A TCP connection names its test by the cookie. A UDP greeting carries no cookie, so that only
//! one test of each client address waits for greetings at a time.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::control::STEP;
use crate::protocol::{Cookie, Refusal, code};

#[derive(Default)]
pub struct Registry {
    tests: Mutex<Vec<Awaited>>,
    left: Condvar,
}

#[derive(Clone)]
pub struct Awaited {
    pub cookie: Cookie,
    pub peer: IpAddr,
    /// The server's side of the control connection, from which greetings are answered.
    pub local: SocketAddr,
    pub is_udp: bool,
    pub missing: usize,
    /// Takes their sockets, connected and past cookie or greeting, with the number of each among
    /// all that came.
    pub taker: Sender<(u64, OwnedFd)>,
}

pub struct Registered {
    registry: Arc<Registry>,
    cookie: Cookie,
}

/// What is to be done with a connection that shows a cookie.
pub enum Belongs {
    /// No test has the cookie: this is a control connection.
    Unknown,
    To(Sender<(u64, OwnedFd)>),
    /// A test has the cookie, but this connection is of another host or is one too many.
    Foreign,
}

impl Registry {
    fn tests(&self) -> MutexGuard<'_, Vec<Awaited>> {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a test; one of UDP waits until no other one of its client waits for greetings.
    pub fn enter(self: &Arc<Self>, test: Awaited) -> Result<Registered, Refusal> {
        let has_turn = |other: &Awaited| other.is_udp && other.peer == test.peer;
        let is_taken = |tests: &[Awaited]| tests.iter().any(|other| other.cookie == test.cookie);
        let must_wait = |tests: &mut Vec<Awaited>| {
            test.is_udp && !is_taken(tests) && tests.iter().any(has_turn)
        };
        let waited = self.left.wait_timeout_while(self.tests(), STEP, must_wait);
        let (mut tests, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        let (code, rule) = match is_taken(&tests) {
            true => (code::BUSY, "a cookie that another test has"),
            false if waited.timed_out() => (
                code::ACCEPT,
                "a UDP test while another one from this host opens its streams",
            ),
            false => {
                let (registry, cookie) = (self.clone(), test.cookie);
                tests.push(test);
                return Ok(Registered { registry, cookie });
            }
        };
        Err(Refusal::new(code, rule.to_owned()))
    }

    pub fn of_cookie(&self, cookie: &Cookie, peer: IpAddr) -> Belongs {
        let mut tests = self.tests();
        match tests.iter_mut().find(|test| test.cookie == *cookie) {
            None => Belongs::Unknown,
            Some(test) if test.peer == peer && !test.is_udp && test.missing > 0 => {
                test.missing -= 1;
                Belongs::To(test.taker.clone())
            }
            Some(_) => Belongs::Foreign,
        }
    }

    pub fn of_greeting(&self, peer: IpAddr) -> Option<Awaited> {
        let mut tests = self.tests();
        let waits = |test: &&mut Awaited| test.is_udp && test.peer == peer && test.missing > 0;
        let test = tests.iter_mut().find(waits)?;
        test.missing -= 1;
        Some(test.clone())
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let is_other = |test: &Awaited| test.cookie != self.cookie;
        self.registry.tests().retain(is_other);
        self.registry.left.notify_all();
    }
}
