//! Both agents together: waiting for either while both are told that their controller lives.

mod loss;
mod recover;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::{Duration, Instant};

use model::event::EndDescription;
use model::record::{IdleBaseline, Role, Sample};
use wire::{FromAgent, Lease, PROTOCOL, Route, ToAgent};

use crate::link::{Incoming, Link};
use crate::{DriveError, Ends, Way};

/// How long an agent may take in all to start and greet, with its program copied over a slow line.
const START: Duration = Duration::from_secs(600);

/// How long an agent may take for an answer that needs no traffic.
const ANSWER: Duration = Duration::from_secs(5);

/// How often a stop by the user is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Messages of both agents that may wait in either of two queues; more wait in the agents' pipes.
const WAITING_MAX: usize = 256;

/// Why waiting ended without what was waited for.
#[derive(Debug)]
pub enum WaitError {
    /// The user stopped.
    Stopped,
    /// An agent failed, died, or took too long: in words.
    Failed(String),
    /// The connection to an agent was lost: in words.
    Lost(String),
}

/// The two agents.
pub struct Pair {
    /// Before `ends`, and so dropped before it: the place of the ends, which `ends` may hold, must outlast the agents,
    /// who restore their hosts when they end.
    links: [Option<Link>; 2],
    ends: Ends,
    inbox: Receiver<Incoming>,
    /// What came and was not looked at yet.
    backlog: VecDeque<Incoming>,
    outbox: SyncSender<Incoming>,
    generation: u32,
    /// Whose agents play both ends; absent: this program's.
    program: Option<String>,
    renewed: Instant,
    epoch: Instant,
    /// Of both hosts, in the present block.
    pub idle: Option<[IdleBaseline; 2]>,
}

/// The agent to blame, and what did not come.
fn in_vain(role: Role, what: &str) -> WaitError {
    WaitError::Failed(format!("the agent of the {} hangs: waited in vain for {what}", role.name()))
}

const ROLES: [Role; 2] = [Role::Sender, Role::Receiver];

fn slot(role: Role) -> usize {
    match role {
        Role::Sender => 0,
        Role::Receiver => 1,
    }
}

impl Pair {
    /// Starts both.
    pub fn open(ends: Ends, stop: &AtomicBool) -> Result<Pair, DriveError> {
        let (outbox, inbox) = mpsc::sync_channel(WAITING_MAX);
        let now = Instant::now();
        let (links, backlog) = ([None, None], VecDeque::new());
        let mut pair = Pair {
            links,
            ends,
            inbox,
            backlog,
            outbox,
            generation: 0,
            program: None,
            renewed: now,
            epoch: now,
            idle: None,
        };
        pair.start(Role::Sender, stop)?;
        pair.start(Role::Receiver, stop)?;
        Ok(pair)
    }

    pub fn way(&mut self, role: Role) -> &mut Way {
        self.ends.way(role)
    }

    /// Has agents of this program at both ends. Those of another one end first, and restore their hosts.
    pub fn play_by(&mut self, program: Option<&str>, stop: &AtomicBool) -> Result<(), DriveError> {
        if self.program.as_deref() == program {
            return Ok(());
        }
        self.links = [None, None];
        self.program = program.map(str::to_owned);
        ROLES.into_iter().try_for_each(|role| self.start(role, stop))
    }

    fn start(&mut self, role: Role, stop: &AtomicBool) -> Result<(), DriveError> {
        self.generation += 1;
        let program = self.program.as_deref();
        let link = Link::start(role, self.ends.way(role), program, self.generation, self.outbox.clone());
        self.links[slot(role)] = Some(link.map_err(|reason| self.agent_error(role, reason))?);
        self.send(role, &ToAgent::Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").into() });
        let hello = self.wait(role, START, "its greeting", stop, |message| match message {
            FromAgent::Hello { protocol, version } => Some((protocol, version)),
            _ => None,
        });
        let (protocol, version) = self.agent_result(role, hello)?;
        if protocol != PROTOCOL {
            let remedy = match &self.program {
                Some(program) => format!("{program} cannot be compared with it run by run; compare two executions"),
                None => "use the same bitcost on both hosts".to_owned(),
            };
            let reason = format!(
                "it is bitcost {version} and speaks version {protocol} of the control protocol, this one speaks {PROTOCOL}; {remedy}"
            );
            return Err(self.agent_error(role, reason));
        }
        Ok(())
    }

    fn agent_error(&mut self, role: Role, reason: String) -> DriveError {
        DriveError::Agent { role, place: self.ends.way(role).place.clone(), reason }
    }

    fn agent_result<T>(&mut self, role: Role, result: Result<T, WaitError>) -> Result<T, DriveError> {
        result.map_err(|error| match error {
            WaitError::Stopped => DriveError::Stopped,
            WaitError::Failed(reason) | WaitError::Lost(reason) => self.agent_error(role, reason),
        })
    }

    /// What one end is.
    pub fn describe(&mut self, role: Role, stop: &AtomicBool) -> Result<EndDescription, DriveError> {
        let device = self.ends.way(role).device.clone();
        self.send(role, &ToAgent::Describe { device });
        let host = self.wait(role, ANSWER, "a description of its host", stop, |message| match message {
            FromAgent::Host(host) => Some(*host),
            _ => None,
        });
        let host = self.agent_result(role, host)?;
        Ok(EndDescription { role, place: self.ends.way(role).place.clone(), host })
    }

    /// How one end's host would send to an address.
    pub fn route(&mut self, role: Role, to: IpAddr, stop: &AtomicBool) -> Result<Route, DriveError> {
        self.send(role, &ToAgent::Route { to });
        let route = self.wait(role, ANSWER, "a route", stop, |message| match message {
            FromAgent::Route(route) => Some(route),
            _ => None,
        });
        self.agent_result(role, route)
    }

    /// The addresses of one of an end's interfaces.
    pub fn addresses(&mut self, role: Role, device: &str, stop: &AtomicBool) -> Result<Vec<IpAddr>, DriveError> {
        self.send(role, &ToAgent::AddressesOf { device: device.to_owned() });
        let addresses = self.wait(role, ANSWER, "the addresses of an interface", stop, |message| match message {
            FromAgent::AddressesOf { addresses } => Some(addresses),
            _ => None,
        });
        self.agent_result(role, addresses)
    }

    pub fn send(&mut self, role: Role, message: &ToAgent) {
        if let Some(link) = &mut self.links[slot(role)] {
            link.send(message);
        }
    }

    /// Waits for an answer of one agent. Readings are passed by; a failure of either ends the wait.
    pub fn wait<T>(
        &mut self,
        role: Role,
        patience: Duration,
        what: &str,
        stop: &AtomicBool,
        mut pick: impl FnMut(FromAgent) -> Option<T>,
    ) -> Result<T, WaitError> {
        let of_role = |from, message| if from == role { pick(message) } else { None };
        self.wait_with(role, patience, what, stop, &mut |_, _| Ok(()), of_role)
    }

    /// As [`Pair::wait`], with the readings of both agents handed to `progress` and the messages of
    /// both to `pick`. `role` is the one to blame when nothing comes.
    pub fn wait_with<T>(
        &mut self,
        role: Role,
        patience: Duration,
        what: &str,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Role, Sample) -> Result<(), WaitError>,
        mut pick: impl FnMut(Role, FromAgent) -> Option<T>,
    ) -> Result<T, WaitError> {
        let deadline = Instant::now() + patience;
        loop {
            let (from, message) = self.next(deadline, what, stop, role)?;
            match message {
                Ok(FromAgent::Failed { reason }) => return Err(self.cause(from, &reason)),
                Ok(FromAgent::Progress(sample)) => progress(from, *sample)?,
                Ok(message) => {
                    if let Some(found) = pick(from, message) {
                        return Ok(found);
                    }
                }
                Err(reason) => return Err(self.died(from, &reason)),
            }
            // What says much and never what is waited for does not keep anybody waiting.
            if Instant::now() > deadline {
                return Err(in_vain(role, what));
            }
        }
    }

    /// The next word of either agent, with both leases renewed meanwhile.
    fn next(
        &mut self,
        deadline: Instant,
        what: &str,
        stop: &AtomicBool,
        role: Role,
    ) -> Result<(Role, Result<FromAgent, String>), WaitError> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(WaitError::Stopped);
            }
            self.renew();
            // What came while nobody listened is no silence.
            while self.backlog.len() < WAITING_MAX
                && let Ok(incoming) = self.inbox.try_recv()
            {
                self.take_in(incoming);
            }
            if let Some(lost) = self.silent() {
                return Err(lost);
            }
            while let Some(incoming) = self.backlog.pop_front() {
                if self.is_current(&incoming) {
                    return Ok((incoming.role, incoming.content));
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(in_vain(role, what));
            }
            if let Ok(incoming) = self.inbox.recv_timeout(left.min(LOOK)) {
                self.take_in(incoming);
            }
        }
    }

    fn take_in(&mut self, incoming: Incoming) {
        if self.is_current(&incoming) {
            if let Some(link) = &mut self.links[slot(incoming.role)] {
                link.hear(&incoming.content);
            }
            self.backlog.push_back(incoming);
        }
    }

    fn is_current(&self, incoming: &Incoming) -> bool {
        let link = self.links[slot(incoming.role)].as_ref();
        link.is_some_and(|link| link.generation == incoming.generation)
    }

    fn renew(&mut self) {
        if self.renewed.elapsed() < Lease::RENEWAL {
            return;
        }
        self.renewed = Instant::now();
        for link in self.links.iter_mut().flatten() {
            link.send(&ToAgent::Renew);
        }
    }

    /// The controller's clock, in ns.
    pub fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }
}
