//! Both agents together: waiting for messages of either, while the leases of both are renewed.

/// A closure that takes one kind of message and leaves the others.
macro_rules! pick {
    ($message:pat => $found:expr) => {
        |message| match message {
            $message => Some($found),
            _ => None,
        }
    };
}

mod agent;
mod loss;
mod recover;

pub(crate) use pick;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bitcost_model::event::EndpointDescription;
use bitcost_model::protocol::{FromAgent, Lease, PROTOCOL, Route, ToAgent};
use bitcost_model::record::{IdleBaseline, Role, Sample};

use self::agent::Agent;
use crate::clock::ClockRelation;
use crate::endpoint::{Endpoint, Endpoints};
use crate::error::{AgentEnd, ControllerError, RunError, Told};
use crate::transport::{AgentId, Incoming, Transport};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The time that an agent may take for an answer that needs no traffic.
pub const ANSWER: Duration = Duration::from_secs(5);

/// The time that an agent may take to read the symbols of its kernel, too.
const SYMBOLS: Duration = Duration::from_secs(20);

static NEVER: AtomicBool = AtomicBool::new(false);

/// The interval at which the controller checks whether the user stopped the execution.
const LOOK: Duration = Duration::from_millis(50);

/// Messages that may be queued here; as many may be queued in the transport, and more in the
/// agents' pipes.
const WAITING_MAX: usize = 256;

pub struct Pair<'a> {
    /// This field is before `endpoints`, so that it is dropped before them: a lab, which
    /// `endpoints` may hold, must outlast the agents, which restore their hosts when they end.
    agents: [Option<Agent>; 2],
    endpoints: Endpoints,
    transport: Box<dyn Transport>,
    backlog: VecDeque<Incoming>,
    generation: u32,
    stop: &'a AtomicBool,
    /// The time at which the leases were renewed, on the transport's clock.
    renewed: Duration,
    pub idle: Option<[IdleBaseline; 2]>,
    /// The clocks of agents that are far away.
    pub clocks: [Option<ClockRelation>; 2],
    /// The time for which an agent that is reached over a network may be silent, where the run that it plays goes on
    /// without data for that long.
    pub outage: Duration,
    /// Whether each host's agent has reported that it failed in the present run.
    pub has_failed: [bool; 2],
    /// Whether each host's CPUs are sampled in the window of the next run.
    pub is_profiled: [bool; 2],
    /// Whether what streams have under way at their end is thrown away.
    pub discards: bool,
}

/// The error that names the agent that is late, and the message that it did not send.
fn timed_out(role: Role, what: &str) -> RunError {
    RunError::Failed(Told {
        of: Some((role, " agent ")),
        words: format!("timed out waiting for {what}"),
    })
}

fn hello() -> ToAgent {
    ToAgent::Hello {
        protocol: PROTOCOL,
        version: VERSION.to_owned(),
    }
}

/// Refuses an agent that greets with another version of the control protocol.
fn check_version(protocol: u32, version: &str) -> Result<(), String> {
    match protocol {
        PROTOCOL => Ok(()),
        _ => Err(format!(
            "it is bitcost {version} and speaks version {protocol} of the control protocol, this is bitcost {VERSION} and speaks {PROTOCOL}; use the same bitcost on all hosts"
        )),
    }
}

impl<'a> Pair<'a> {
    /// Starts both agents.
    pub fn open(
        transport: Box<dyn Transport>,
        endpoints: Endpoints,
        stop: &'a AtomicBool,
    ) -> Result<Pair<'a>, ControllerError> {
        let mut pair = Pair::new(transport, endpoints, stop);
        pair.start(Role::Sender)?;
        pair.start(Role::Receiver)?;
        Ok(pair)
    }

    pub fn new(
        transport: Box<dyn Transport>,
        endpoints: Endpoints,
        stop: &'a AtomicBool,
    ) -> Pair<'a> {
        Pair {
            agents: [None, None],
            endpoints,
            renewed: transport.now(),
            transport,
            backlog: VecDeque::new(),
            generation: 0,
            stop,
            idle: None,
            clocks: [None; 2],
            outage: Duration::ZERO,
            has_failed: [false; 2],
            is_profiled: [false; 2],
            discards: false,
        }
    }

    /// The host of one role: its device, addresses and CPUs may still be changed.
    pub fn endpoint(&mut self, role: Role) -> &mut Endpoint {
        &mut self.endpoints[role as usize]
    }

    /// Goes on although the user has stopped the execution.
    pub fn ignore_stop(&mut self) {
        self.stop = &NEVER;
    }

    /// Whether its agent has ended, or was given up.
    pub fn is_gone(&self, role: Role) -> bool {
        self.agents[role as usize].is_none()
    }

    /// Starts an agent, and waits until it greets.
    pub fn start(&mut self, role: Role) -> Result<(), ControllerError> {
        self.generation += 1;
        self.clocks[role as usize] = None;
        let id = AgentId {
            role,
            generation: self.generation,
        };
        let endpoint = &mut self.endpoints[role as usize];
        let greeting = endpoint.greeting;
        let link = self
            .transport
            .start(id, endpoint)
            .map_err(|why| self.agent_error(role, why.0))?;
        self.agents[role as usize] = Some(Agent::new(id, link, self.transport.now()));
        let pick = pick!(FromAgent::Hello { protocol, version } => (protocol, version));
        let what = (greeting, "its greeting");
        let (protocol, version) = self.ask(role, &hello(), what, pick)?;
        check_version(protocol, &version).map_err(|reason| self.agent_error(role, reason))
    }

    fn agent_error(&mut self, role: Role, reason: String) -> ControllerError {
        ControllerError::Agent {
            role,
            place: self.endpoints[role as usize].place.clone(),
            reason,
        }
    }

    /// Asks one agent, and waits for what `pick` takes as the answer.
    pub fn ask<T>(
        &mut self,
        role: Role,
        question: &ToAgent,
        (patience, what): (Duration, &str),
        pick: impl FnMut(FromAgent) -> Option<T>,
    ) -> Result<T, ControllerError> {
        self.send(role, question);
        let answer = self.wait(role, patience, what, pick);
        answer.map_err(|error| match error.told() {
            Ok(told) => self.agent_error(role, told.without(role)),
            Err(error) => error,
        })
    }

    pub fn describe(&mut self, role: Role) -> Result<EndpointDescription, ControllerError> {
        let device = self.endpoints[role as usize].device.clone();
        let (question, answer) = (ToAgent::Describe { device }, "a description of its host");
        let pick = pick!(FromAgent::Host(host) => *host);
        let host = self.ask(role, &question, (ANSWER, answer), pick)?;
        Ok(EndpointDescription {
            role,
            place: self.endpoints[role as usize].place.clone(),
            host,
        })
    }

    pub fn try_profile(&mut self, role: Role) -> Result<(), ControllerError> {
        let answer = "whether it can sample the CPUs of its host";
        let pick = pick!(FromAgent::Profilable => ());
        self.ask(role, &ToAgent::TryProfile, (SYMBOLS, answer), pick)
    }

    pub fn route(&mut self, role: Role, to: IpAddr, by: &str) -> Result<Route, ControllerError> {
        let pick = pick!(FromAgent::Route(route) => route);
        let device = by.to_owned();
        let question = ToAgent::Route { to, device };
        self.ask(role, &question, (ANSWER, "a route"), pick)
    }

    pub fn addresses(&mut self, role: Role, device: &str) -> Result<Vec<IpAddr>, ControllerError> {
        let device = device.to_owned();
        let pick = pick!(FromAgent::AddressesOf { addresses } => addresses);
        let answer = "the addresses of an interface";
        let question = ToAgent::AddressesOf { device };
        self.ask(role, &question, (ANSWER, answer), pick)
    }

    pub fn send(&mut self, role: Role, message: &ToAgent) {
        if let Some(agent) = &mut self.agents[role as usize] {
            agent.send(message);
        }
    }

    /// Waits for an answer of one agent. Readings are skipped; a failure of either agent ends the
    /// wait.
    pub(crate) fn wait<T>(
        &mut self,
        role: Role,
        patience: Duration,
        what: &str,
        mut pick: impl FnMut(FromAgent) -> Option<T>,
    ) -> Result<T, RunError> {
        let of_role = |from, message| if from == role { pick(message) } else { None };
        self.wait_with(role, patience, what, &mut |_, _| Ok(()), of_role)
    }

    /// As [`Pair::wait`], with the readings of both agents handed to `progress` and the messages of
    /// both to `pick`. `role` is the agent that is late when nothing comes.
    pub(crate) fn wait_with<T>(
        &mut self,
        role: Role,
        patience: Duration,
        what: &str,
        progress: &mut dyn FnMut(Role, Sample) -> Result<(), RunError>,
        mut pick: impl FnMut(Role, FromAgent) -> Option<T>,
    ) -> Result<T, RunError> {
        let deadline = self.transport.now() + patience;
        loop {
            let (from, message) = self.next(deadline, what, role)?;
            match message {
                Ok(FromAgent::Failed { reason, cause }) => {
                    return Err(self.cause(from, &reason, cause));
                }
                Ok(FromAgent::Progress(sample)) => progress(from, *sample)?,
                Ok(message) => {
                    if let Some(found) = pick(from, message) {
                        return Ok(found);
                    }
                }
                Err(end) => return Err(self.died(from, &end)),
            }
            // Messages other than the awaited one do not extend the wait.
            if self.transport.now() > deadline {
                return Err(timed_out(role, what));
            }
        }
    }

    /// The next message of either agent; both leases are renewed meanwhile.
    fn next(
        &mut self,
        deadline: Duration,
        what: &str,
        role: Role,
    ) -> Result<(Role, Result<FromAgent, AgentEnd>), RunError> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(RunError::Stopped);
            }
            self.renew();
            // Messages that arrived while the controller did not read are not counted as silence.
            while self.backlog.len() < WAITING_MAX
                && let Some(incoming) = self.transport.receive(Duration::ZERO)
            {
                self.take_in(incoming);
            }
            if let Some(lost) = self.silent() {
                return Err(lost);
            }
            while let Some(incoming) = self.backlog.pop_front() {
                if self.is_current(&incoming) {
                    return Ok((incoming.agent.role, incoming.content));
                }
            }
            let left = deadline.saturating_sub(self.transport.now());
            if left.is_zero() {
                return Err(timed_out(role, what));
            }
            if let Some(incoming) = self.transport.receive(left.min(LOOK)) {
                self.take_in(incoming);
            }
        }
    }

    fn take_in(&mut self, incoming: Incoming) {
        if self.is_current(&incoming) {
            let now = self.transport.now();
            if let Some(agent) = &mut self.agents[incoming.agent.role as usize] {
                agent.hear(&incoming.content, now);
            }
            self.backlog.push_back(incoming);
        }
    }

    fn is_current(&self, incoming: &Incoming) -> bool {
        let agent = self.agents[incoming.agent.role as usize].as_ref();
        agent.is_some_and(|agent| agent.id == incoming.agent)
    }

    fn renew(&mut self) {
        let now = self.transport.now();
        if now.saturating_sub(self.renewed) < Lease::RENEWAL {
            return;
        }
        self.renewed = now;
        for agent in self.agents.iter_mut().flatten() {
            agent.send(&ToAgent::Renew);
        }
    }

    pub fn now_ns(&self) -> u64 {
        self.transport.now().as_nanos() as u64
    }
}
