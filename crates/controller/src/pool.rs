//! Agents of many hosts that are kept over many runs, of which two at a time play a run.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bitcost_model::Unavailable;
use bitcost_model::machine::HostDescription;
use bitcost_model::protocol::{Lease, ToAgent};
use bitcost_model::record::Role;

use crate::endpoint::{Endpoint, Endpoints};
use crate::error::{AgentEnd, ControllerError};
use crate::pair::{ANSWER, Pair};
use crate::process::{Process, Processes, WAITING_MAX};
use crate::route::Route;
use crate::session::Session;
use crate::transport::{AgentId, Incoming, Link, Transport};

const AT_ONCE: usize = 64;

const ATTEMPTS: u32 = 3;

/// The agents of many hosts, by the place of the host.
pub struct Pool {
    shared: Arc<Shared>,
    renewals: Option<JoinHandle<()>>,
    /// The attempts since each host was described last.
    starts: Vec<u32>,
}

struct Shared {
    agents: Mutex<Vec<Slot>>,
    outbox: SyncSender<Incoming>,
    is_over: AtomicBool,
}

enum Slot {
    Free(Kept),
    Lent,
    Gone(String),
}

struct Kept {
    process: Process,
    route: Route,
}

fn none() -> Slot {
    Slot::Gone("its agent was not started".to_owned())
}

/// An agent that plays no run, by its host.
fn agent_of(host: usize) -> AgentId {
    AgentId {
        role: Role::Sender,
        generation: host as u32,
    }
}

impl Shared {
    fn agents(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lend(&self, host: usize) -> Result<Kept, Unavailable> {
        let slot = &mut self.agents()[host];
        match std::mem::replace(slot, Slot::Lent) {
            Slot::Free(kept) => Ok(kept),
            Slot::Lent => Err(Unavailable("its agent is busy with another run".to_owned())),
            Slot::Gone(reason) => {
                *slot = Slot::Gone(reason.clone());
                Err(Unavailable(reason))
            }
        }
    }

    /// Keeps an agent that has answered, or the reason why a host has none.
    fn keep(&self, host: usize, kept: Result<Kept, String>) {
        let slot = match kept {
            Ok(kept) => {
                kept.route.lead(agent_of(host), self.outbox.clone());
                Slot::Free(kept)
            }
            Err(reason) => Slot::Gone(reason),
        };
        let before = std::mem::replace(&mut self.agents()[host], slot);
        if let Slot::Free(mut kept) = before {
            kept.process.end(true);
        }
    }

    /// Renews the leases of agents that play no run, and takes note of those that end.
    fn look_after(&self, inbox: &Receiver<Incoming>) {
        let mut renewed = Instant::now();
        while !self.is_over.load(Ordering::Relaxed) {
            match inbox.recv_timeout(Lease::RENEWAL / 4) {
                Ok(Incoming {
                    agent,
                    content: Err(reason),
                }) => {
                    let slot = &mut self.agents()[agent.generation as usize];
                    if let Slot::Free(kept) = slot {
                        *slot = Slot::Gone(kept.process.ending().unwrap_or(reason.to_string()));
                    }
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if renewed.elapsed() >= Lease::RENEWAL {
                renewed = Instant::now();
                for slot in self.agents().iter_mut() {
                    if let Slot::Free(kept) = slot {
                        kept.process.send(&ToAgent::Renew);
                    }
                }
            }
        }
    }
}

impl Pool {
    pub fn new(hosts: usize) -> Pool {
        let (outbox, inbox) = mpsc::sync_channel(WAITING_MAX);
        let shared = Arc::new(Shared {
            agents: Mutex::new((0..hosts).map(|_| none()).collect()),
            outbox,
            is_over: AtomicBool::new(false),
        });
        let own = shared.clone();
        Pool {
            shared,
            renewals: Some(std::thread::spawn(move || own.look_after(&inbox))),
            starts: vec![0; hosts],
        }
    }

    /// Whether a host has no agent and was not tried too often.
    pub fn may_start(&self, host: usize) -> bool {
        self.missing(host).is_some() && self.starts[host] < ATTEMPTS
    }

    /// Starts the agents of these hosts, each with what it is to be described by: an interface, or else an address to which
    /// its route leads. Each is started by this thread, with which the kernel may end it, and greets on another. Returns
    /// the hosts that were described.
    pub fn start(
        &mut self,
        mut hosts: Vec<(usize, Endpoint, Option<IpAddr>)>,
        stop: &AtomicBool,
    ) -> Vec<(usize, HostDescription)> {
        let mut described = Vec::new();
        for some in hosts.chunks_mut(AT_ONCE) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let mut started = Vec::new();
            for (host, endpoint, to) in some {
                self.starts[*host] += 1;
                let route = Route::new(agent_of(*host), self.shared.outbox.clone());
                match Process::start(endpoint, route.clone()) {
                    Ok(process) => {
                        let facts = (endpoint.greeting, endpoint.device.clone(), *to);
                        started.push((*host, Kept { process, route }, facts));
                    }
                    Err(Unavailable(reason)) => self.shared.keep(*host, Err(reason)),
                }
            }
            let pool = &*self;
            std::thread::scope(|scope| {
                let greet = |(host, kept, facts)| {
                    scope.spawn(move || Some((host, pool.greeted(host, kept, facts, stop)?)))
                };
                let threads: Vec<_> = started.into_iter().map(greet).collect();
                let found = threads.into_iter().map(|thread| thread.join().ok());
                described.extend(found.flatten().flatten());
            });
        }
        let hosts = described.iter().map(|(host, _)| *host);
        hosts.for_each(|host| self.starts[host] = 0);
        described
    }

    /// Waits until an agent that was started greets, and has it describe its host.
    fn greeted(
        &self,
        host: usize,
        kept: Kept,
        (greeting, device, to): (Duration, String, Option<IpAddr>),
        stop: &AtomicBool,
    ) -> Option<HostDescription> {
        let mut pair = self.alone(host, kept, stop);
        pair.endpoint(Role::Sender).greeting = greeting;
        if let Err(error) = pair.start(Role::Sender) {
            let reason = match error {
                ControllerError::Agent { reason, .. } => reason,
                error => error.to_string(),
            };
            drop(pair);
            self.shared.keep(host, Err(reason));
            return None;
        }
        let to = to.filter(|_| device.is_empty());
        let route = to.and_then(|to| pair.route(Role::Sender, to, "").ok());
        pair.endpoint(Role::Sender).device = route.map_or(device, |route| route.device);
        Some(pair.describe(Role::Sender).ok()?.host)
    }

    /// The agent of a host, which was just started, as the sender of a pair without a receiver.
    fn alone<'a>(&self, host: usize, started: Kept, stop: &'a AtomicBool) -> Pair<'a> {
        let endpoints = [(); 2].map(|()| Endpoint::pooled(String::new()));
        let transport = Borrowed {
            shared: self.shared.clone(),
            hosts: [host; 2],
            started: Some(started),
            queue: Processes::new(),
        };
        Pair::new(Box::new(transport), endpoints, stop)
    }

    /// Why a host has no agent; absent where it has one.
    pub fn missing(&self, host: usize) -> Option<String> {
        match &self.shared.agents()[host] {
            Slot::Gone(reason) => Some(reason.clone()),
            Slot::Free(_) | Slot::Lent => None,
        }
    }

    /// The agents of two hosts for a run, until the session is dropped. The endpoints need no command.
    pub fn session<'a>(
        &self,
        [sender, receiver]: [usize; 2],
        endpoints: Endpoints,
        stop: &'a AtomicBool,
    ) -> Result<Session<'a>, ControllerError> {
        let borrowed = Borrowed {
            shared: self.shared.clone(),
            hosts: [sender, receiver],
            started: None,
            queue: Processes::new(),
        };
        Session::open_over(Box::new(borrowed), endpoints, stop)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let _ = self.renewals.take().map(JoinHandle::join);
        let mut agents = self.shared.agents();
        let kept = agents.drain(..).filter_map(|slot| match slot {
            Slot::Free(kept) => Some(kept),
            Slot::Lent | Slot::Gone(_) => None,
        });
        let mut kept: Vec<Kept> = kept.collect();
        kept.iter_mut().for_each(|kept| kept.process.close());
        kept.iter_mut().for_each(|kept| kept.process.end(false));
    }
}

struct Borrowed {
    shared: Arc<Shared>,
    hosts: [usize; 2],
    /// The agent of these hosts that was just started, and is not in the pool yet.
    started: Option<Kept>,
    queue: Processes,
}

impl Transport for Borrowed {
    fn start(&mut self, agent: AgentId, _: &mut Endpoint) -> Result<Box<dyn Link>, Unavailable> {
        let host = self.hosts[agent.role as usize];
        let kept = match self.started.take() {
            Some(kept) => kept,
            None => self.shared.lend(host)?,
        };
        kept.route.lead(agent, self.queue.outbox());
        let (shared, kept) = (self.shared.clone(), Some(kept));
        Ok(Box::new(Loan { shared, host, kept }))
    }

    fn receive(&mut self, limit: Duration) -> Option<Incoming> {
        self.queue.receive(limit)
    }

    fn now(&self) -> Duration {
        self.queue.now()
    }

    fn sleep(&mut self, length: Duration) {
        self.queue.sleep(length);
    }
}

/// An agent that plays a run, and then returns to the pool.
struct Loan {
    shared: Arc<Shared>,
    host: usize,
    kept: Option<Kept>,
}

impl Link for Loan {
    fn send(&mut self, message: &ToAgent) {
        if let Some(kept) = &mut self.kept {
            kept.process.send(message);
        }
    }

    fn ending(&mut self) -> Option<String> {
        self.kept.as_mut()?.process.ending()
    }

    fn end(&mut self, at_once: bool) {
        let Some(mut kept) = self.kept.take() else {
            return;
        };
        let lost = match (at_once, kept.route.is_ended()) {
            (false, false) => return self.shared.keep(self.host, Ok(kept)),
            (_, true) => kept
                .process
                .ending()
                .unwrap_or(AgentEnd::OutputEnded.to_string()),
            (true, false) => "it did not answer and was ended".to_owned(),
        };
        kept.process.end(true);
        self.shared.keep(self.host, Err(lost));
    }
}

impl Endpoint {
    /// The endpoint of a host with this place whose agent is kept in a [`Pool`].
    pub fn pooled(place: String) -> Endpoint {
        Endpoint {
            greeting: ANSWER,
            ..Endpoint::new(place, || {
                Err(Unavailable("its agent is one of a pool".to_owned()))
            })
        }
    }
}
