//! Agents of many hosts that are kept over many runs, of which two at a time play a run.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bitcost_model::Unavailable;
use bitcost_model::machine::HostDescription;
use bitcost_model::protocol::{FromAgent, Lease, ToAgent};
use bitcost_model::record::Role;

use crate::endpoint::{Endpoint, Endpoints};
use crate::error::{AgentEnd, ControllerError};
use crate::pair::{ANSWER, check_version, hello};
use crate::process::{Process, Processes, WAITING_MAX};
use crate::route::Route;
use crate::session::Session;
use crate::transport::{AgentId, Incoming, Link, Transport};

const AT_ONCE: usize = 64;

/// The silence of an agent that is started after which it counts as lost.
const SILENCE: Duration = Duration::from_secs(20);

const ATTEMPTS: u32 = 3;

/// The agents of many hosts, by the place of the host.
pub struct Pool {
    shared: Arc<Shared>,
    renewals: Option<JoinHandle<()>>,
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
                let (role, generation) = (Role::Sender, host as u32);
                let agent = AgentId { role, generation };
                kept.route.lead(agent, self.outbox.clone());
                Slot::Free(kept)
            }
            Err(reason) => Slot::Gone(reason),
        };
        self.agents()[host] = slot;
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

    /// Starts the agents of these hosts. Each is started by this thread, with which the kernel may end it, and
    /// greets on another.
    pub fn start(&mut self, mut endpoints: Vec<(usize, Endpoint)>, stop: &AtomicBool) {
        for some in endpoints.chunks_mut(AT_ONCE) {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let mut started = Vec::new();
            for (host, endpoint) in some {
                self.starts[*host] += 1;
                let (outbox, inbox) = mpsc::sync_channel(WAITING_MAX);
                let (role, generation) = (Role::Sender, *host as u32);
                let route = Route::new(AgentId { role, generation }, outbox);
                match Process::start(endpoint, route.clone()) {
                    Ok(process) => started.push((*host, Kept { process, route }, inbox)),
                    Err(Unavailable(reason)) => self.shared.keep(*host, Err(reason)),
                }
            }
            std::thread::scope(|scope| {
                for (host, kept, inbox) in started {
                    let shared = &self.shared;
                    scope.spawn(move || shared.keep(host, greeted(kept, &inbox, stop)));
                }
            });
        }
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
            queue: Processes::new(),
        };
        Session::open_over(Box::new(borrowed), endpoints, stop)
    }

    /// The description of a host, with the interface of this name, or else that of the route to an address.
    pub fn describe(
        &self,
        host: usize,
        device: Option<String>,
        to: Option<IpAddr>,
        stop: &AtomicBool,
    ) -> Result<HostDescription, Unavailable> {
        let mut kept = self.shared.lend(host)?;
        let (outbox, inbox) = mpsc::sync_channel(WAITING_MAX);
        let (role, generation) = (Role::Sender, 0);
        kept.route.lead(AgentId { role, generation }, outbox);
        let mut ask = |question: &ToAgent| {
            kept.process.send(question);
            answer(&inbox, ANSWER, stop, |message| match message {
                FromAgent::Failed { reason, .. } => Some(Err(AgentEnd::Failed(reason))),
                FromAgent::Host(_) | FromAgent::Route(_) => Some(Ok(message)),
                _ => None,
            })?
        };
        let route = match (&device, to) {
            (None, Some(to)) => ask(&ToAgent::Route { to }).ok(),
            _ => None,
        };
        let device = match route {
            Some(FromAgent::Route(route)) => route.device,
            _ => device.unwrap_or_default(),
        };
        let described = ask(&ToAgent::Describe { device });
        self.shared.keep(host, Ok(kept));
        match described {
            Ok(FromAgent::Host(host)) => Ok(*host),
            Ok(_) => Err(Unavailable("it described no host".to_owned())),
            Err(end) => Err(Unavailable(end.to_string())),
        }
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

/// Waits until an agent that was started greets, and checks its version.
fn greeted(mut kept: Kept, inbox: &Receiver<Incoming>, stop: &AtomicBool) -> Result<Kept, String> {
    kept.process.send(&hello());
    let greeting = answer(inbox, SILENCE, stop, |message| match message {
        FromAgent::Hello { protocol, version } => Some((protocol, version)),
        _ => None,
    });
    let refused = match greeting {
        Ok((protocol, version)) => check_version(protocol, &version).err(),
        Err(AgentEnd::OutputEnded) => {
            let ending = kept.process.ending();
            Some(ending.unwrap_or(AgentEnd::OutputEnded.to_string()))
        }
        Err(end) => Some(end.to_string()),
    };
    match refused {
        None => Ok(kept),
        Some(reason) => {
            kept.process.end(true);
            Err(reason)
        }
    }
}

/// The awaited message of an agent, which may be silent for this time.
fn answer<T>(
    inbox: &Receiver<Incoming>,
    patience: Duration,
    stop: &AtomicBool,
    mut pick: impl FnMut(FromAgent) -> Option<T>,
) -> Result<T, AgentEnd> {
    let mut heard = Instant::now();
    while heard.elapsed() < patience {
        if stop.load(Ordering::Relaxed) {
            return Err(AgentEnd::Failed("stopped by the user".to_owned()));
        }
        match inbox.recv_timeout(Duration::from_millis(50)) {
            Ok(Incoming {
                content: Ok(message),
                ..
            }) => {
                heard = Instant::now();
                if let Some(found) = pick(message) {
                    return Ok(found);
                }
            }
            Ok(Incoming {
                content: Err(end), ..
            }) => return Err(end),
            Err(_) => {}
        }
    }
    Err(AgentEnd::Failed(format!(
        "nothing heard from it for {} s",
        patience.as_secs()
    )))
}

struct Borrowed {
    shared: Arc<Shared>,
    hosts: [usize; 2],
    queue: Processes,
}

impl Transport for Borrowed {
    fn start(&mut self, agent: AgentId, _: &mut Endpoint) -> Result<Box<dyn Link>, Unavailable> {
        let host = self.hosts[usize::from(agent.role == Role::Receiver)];
        let kept = self.shared.lend(host)?;
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
