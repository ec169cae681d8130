//! Two scripted agents with declared records, and a clock that moves only while the controller
//! waits.

use std::cell::RefCell;
pub use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
pub use std::time::Duration;

use bitcost_controller::{AgentEnd, AgentId, Endpoint, Incoming, Link, Session, Transport};
pub use bitcost_controller::{ControllerError, Ending};
use bitcost_model::Unavailable;
pub use bitcost_model::conditions::Conditions;
pub use bitcost_model::event::{Event, FailureKind};
use bitcost_model::plan::{Plan, PlannedRun};
use bitcost_model::protocol::{FailureCause, Lease, PROTOCOL, Prepare};
pub use bitcost_model::protocol::{FromAgent, ToAgent};
pub use bitcost_model::record::Role;
use bitcost_model::record::{EndpointRecord, IdleBaseline, Sample};
use bitcost_model::study::Cell;

pub const BOTH: [Role; 2] = [Role::Sender, Role::Receiver];

/// The address on which the receiver listens.
pub const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

/// The reaction of an agent to a message.
pub enum Act {
    /// It answers like a real agent.
    Answer,
    /// It does not react to this message; it reacts to the next one.
    Ignore,
    /// It answers this much later; later answers wait for it.
    Late(Duration),
    /// It does not react any more.
    Hang,
    /// Its process ends like this.
    Die(&'static str),
    /// It reports that the request could not be carried out.
    Fail(&'static str),
    /// It sends this message instead.
    Say(FromAgent),
    /// It sends keep-alive messages every 10 ms for 20 s, and no answer.
    Talk,
}

/// A message that an agent received.
pub struct Heard<'a> {
    pub role: Role,
    /// The number of agents of this role that were started before.
    pub earlier: usize,
    /// The run that was prepared last.
    pub run: Option<u32>,
    pub message: &'a ToAgent,
}

type Script = Box<dyn FnMut(&Heard) -> Act>;
type StartScript = Box<dyn FnMut(Role, usize) -> Result<(), String>>;

struct Agent {
    id: AgentId,
    earlier: usize,
    heard: Duration,
    prepared: Option<Prepare>,
    is_hanging: bool,
    ended: Option<String>,
    /// The time at which its last answer arrives.
    last_due: Duration,
}

/// Everything outside of the controller.
struct State {
    now: Duration,
    agents: Vec<Agent>,
    /// Messages on the way to the controller, with their arrival times.
    due: Vec<(Duration, Incoming)>,
    script: Script,
    start_script: StartScript,
    stop: &'static AtomicBool,
    stop_at: Option<Duration>,
    heard: Vec<(Duration, AgentId, ToAgent)>,
    started: Vec<(Duration, Role)>,
    /// The delay of a message from the controller to the agent of each role, and back.
    latency: [Duration; 2],
    /// Each agent's clock minus the controller's, in ns.
    offset_ns: [u64; 2],
}

#[derive(Clone)]
pub struct World(Rc<RefCell<State>>);

fn slot(role: Role) -> usize {
    usize::from(role == Role::Receiver)
}

impl World {
    /// Agents that follow a script.
    pub fn new(script: impl FnMut(&Heard) -> Act + 'static) -> World {
        World(Rc::new(RefCell::new(State {
            now: Duration::ZERO,
            agents: Vec::new(),
            due: Vec::new(),
            script: Box::new(script),
            start_script: Box::new(|_, _| Ok(())),
            stop: Box::leak(Box::default()),
            stop_at: None,
            heard: Vec::new(),
            started: Vec::new(),
            latency: [Duration::from_micros(100); 2],
            offset_ns: [1_000_000_000_000, 5_000_000_000],
        })))
    }

    /// Agents without faults.
    pub fn honest() -> World {
        World::new(|_| Act::Answer)
    }

    /// Decides whether an agent can be started, from its role and the number of earlier attempts of
    /// that role.
    pub fn on_start(
        self,
        script: impl FnMut(Role, usize) -> Result<(), String> + 'static,
    ) -> World {
        self.0.borrow_mut().start_script = Box::new(script);
        self
    }

    /// The user stops the execution at this time.
    pub fn stop_at(self, time: Duration) -> World {
        self.0.borrow_mut().stop_at = Some(time);
        self
    }

    /// Sets the delay of messages in each direction, and the agents' clocks minus the controller's
    /// in ns.
    pub fn with_clocks(self, latency: [Duration; 2], offset_ns: [u64; 2]) -> World {
        let mut state = self.0.borrow_mut();
        (state.latency, state.offset_ns) = (latency, offset_ns);
        drop(state);
        self
    }

    pub fn now(&self) -> Duration {
        self.0.borrow().now
    }

    /// The messages that the agents received, with the time and the agent.
    pub fn heard(&self) -> Vec<(Duration, AgentId, ToAgent)> {
        self.0.borrow().heard.clone()
    }

    /// The attempts to start an agent: time and role.
    pub fn started(&self) -> Vec<(Duration, Role)> {
        self.0.borrow().started.clone()
    }

    pub fn session(&self, patience: Duration) -> Result<Session<'static>, ControllerError> {
        let stop = self.0.borrow().stop;
        let endpoint = |role: Role| Endpoint {
            addresses: vec![ADDRESS],
            patience,
            ..Endpoint::new(format!("host-{}", role.name()), || Ok(Command::new("none")))
        };
        let endpoints = [Role::Sender, Role::Receiver].map(endpoint);
        Session::open_over(Box::new(self.clone()), endpoints, stop)
    }

    /// Executes a plan without patience for lost agents.
    pub fn execute(&self, plan: &Plan) -> Outcome {
        self.execute_with(plan, Duration::ZERO)
    }

    pub fn execute_with(&self, plan: &Plan, patience: Duration) -> Outcome {
        let mut session = self.session(patience).expect("both agents greet");
        Outcome::of(&mut session, plan, &BTreeSet::new())
    }
}

/// The events of an execution, and its end.
pub struct Outcome {
    pub events: Vec<Event>,
    pub ending: Result<Ending, ControllerError>,
}

impl Outcome {
    pub fn of(session: &mut Session, plan: &Plan, done: &BTreeSet<u32>) -> Outcome {
        let mut events = Vec::new();
        let mut sink = |event| {
            events.push(event);
            Ok(())
        };
        let ending = session.execute(plan, done, &mut sink);
        Outcome { events, ending }
    }

    /// The runs with a result, in their order.
    pub fn ended(&self) -> Vec<u32> {
        let ended = |event: &Event| match event {
            Event::RunEnded { run, .. } => Some(*run),
            _ => None,
        };
        self.events.iter().filter_map(ended).collect()
    }

    /// The runs without a result: number, kind, reason.
    pub fn failed(&self) -> Vec<(u32, FailureKind, &str)> {
        let failed = self.events.iter().filter_map(|event| match event {
            Event::RunFailed {
                run, kind, reason, ..
            } => Some((*run, *kind, reason.as_str())),
            _ => None,
        });
        failed.collect()
    }

    /// The reason why the only failed run failed.
    pub fn failure(&self) -> (u32, FailureKind, &str) {
        let failed = self.failed();
        assert_eq!(failed.len(), 1, "{failed:?}");
        failed[0]
    }
}

/// Conditions without an idle baseline.
pub fn conditions() -> Conditions {
    Conditions {
        idle_baseline_ms: Some(0),
        ..Conditions::default()
    }
}

/// Blocks of one run for each of these conditions.
pub fn plan(blocks: u32, cells: &[Conditions]) -> Plan {
    let order = (0..blocks).flat_map(|block| (0..cells.len()).map(move |cell| (block, cell)));
    let runs = order
        .zip(0..)
        .map(|((block, cell), index)| PlannedRun { index, block, cell });
    let of_cell = |conditions: &Conditions| Cell {
        levels: Vec::new(),
        conditions: conditions.clone(),
    };
    Plan {
        blocks,
        runs: runs.collect(),
        cells: cells.iter().map(of_cell).collect(),
        ..Plan::of_one(conditions())
    }
}

impl Transport for World {
    fn start(
        &mut self,
        agent: AgentId,
        _endpoint: &mut Endpoint,
    ) -> Result<Box<dyn Link>, Unavailable> {
        let mut state = self.0.borrow_mut();
        let (now, role) = (state.now, agent.role);
        let earlier = state.started.iter().filter(|start| start.1 == role).count();
        state.started.push((now, role));
        (state.start_script)(role, earlier).map_err(Unavailable)?;
        state.agents.push(Agent {
            id: agent,
            earlier,
            heard: now,
            prepared: None,
            is_hanging: false,
            ended: None,
            last_due: now,
        });
        let world = self.clone();
        Ok(Box::new(ScriptedLink { world, agent }))
    }

    fn receive(&mut self, limit: Duration) -> Option<Incoming> {
        self.0.borrow_mut().receive(limit)
    }

    fn now(&self) -> Duration {
        World::now(self)
    }

    fn sleep(&mut self, length: Duration) {
        let mut state = self.0.borrow_mut();
        let until = state.now + length;
        state.advance(until);
    }
}

struct ScriptedLink {
    world: World,
    agent: AgentId,
}

impl Link for ScriptedLink {
    fn send(&mut self, message: &ToAgent) {
        self.world.0.borrow_mut().deliver(self.agent, message);
    }

    fn ending(&mut self) -> Option<String> {
        let state = self.world.0.borrow();
        let agent = state.agents.iter().find(|agent| agent.id == self.agent);
        agent.and_then(|agent| agent.ended.clone())
    }

    fn end(&mut self, _at_once: bool) {
        let mut state = self.world.0.borrow_mut();
        let agent = state.agents.iter_mut().find(|agent| agent.id == self.agent);
        if let Some(agent) = agent {
            agent.ended.get_or_insert("it was ended".to_owned());
        }
    }
}

impl State {
    /// Advances the time; an agent whose lease expires ends, as a real one does.
    fn advance(&mut self, until: Duration) {
        let lapsed = |agent: &&mut Agent| {
            agent.ended.is_none() && !agent.is_hanging && agent.heard + Lease::LENGTH < until
        };
        for agent in self.agents.iter_mut().filter(lapsed) {
            agent.ended = Some("its lease ran out".to_owned());
            let incoming = Incoming {
                agent: agent.id,
                content: Err(AgentEnd::OutputEnded),
            };
            self.due.push((agent.heard + Lease::LENGTH, incoming));
        }
        self.now = until;
        if self.stop_at.is_some_and(|time| time <= until) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn receive(&mut self, limit: Duration) -> Option<Incoming> {
        let until = self.now + limit;
        let next = self.due.iter().map(|(time, _)| *time).min();
        let until = next.map_or(until, |time| time.max(self.now).min(until));
        self.advance(until);
        let ready = (0..self.due.len()).filter(|at| self.due[*at].0 <= self.now);
        let first = ready.min_by_key(|at| (self.due[*at].0, *at))?;
        Some(self.due.remove(first).1)
    }

    fn deliver(&mut self, id: AgentId, message: &ToAgent) {
        let arrival = self.now + self.latency[slot(id.role)];
        self.heard.push((arrival, id, message.clone()));
        let Some(at) = self.agents.iter().position(|agent| agent.id == id) else {
            return;
        };
        let agent = &mut self.agents[at];
        if agent.is_hanging || agent.ended.is_some() {
            return;
        }
        agent.heard = arrival;
        if let ToAgent::Prepare(prepare) = message {
            agent.prepared = Some((**prepare).clone());
        }
        let heard = Heard {
            role: id.role,
            earlier: agent.earlier,
            run: agent.prepared.as_ref().map(|prepare| prepare.run),
            message,
        };
        match (self.script)(&heard) {
            Act::Answer => self.answer(at, arrival, message),
            Act::Late(by) => self.answer(at, arrival + by, message),
            Act::Ignore => {}
            Act::Hang => self.agents[at].is_hanging = true,
            Act::Die(how) => {
                self.agents[at].ended = Some(how.to_owned());
                self.push(at, arrival, Err(AgentEnd::OutputEnded));
            }
            Act::Fail(reason) => {
                let reason = reason.to_owned();
                self.push(
                    at,
                    arrival,
                    Ok(FromAgent::Failed {
                        reason,
                        cause: FailureCause::Other,
                    }),
                );
            }
            Act::Say(message) => self.push(at, arrival, Ok(message)),
            Act::Talk => {
                for number in 0..2000 {
                    let time = arrival + number * Duration::from_millis(10);
                    self.push(at, time, Ok(FromAgent::Alive));
                }
            }
        }
    }

    /// Answers of one agent arrive in their order; signs of life do not wait for others.
    fn push(&mut self, at: usize, sent: Duration, content: Result<FromAgent, AgentEnd>) {
        let agent = &mut self.agents[at];
        let mut due = sent + self.latency[slot(agent.id.role)];
        if content != Ok(FromAgent::Alive) {
            due = due.max(agent.last_due);
            agent.last_due = due;
        }
        let agent = agent.id;
        self.due.push((due, Incoming { agent, content }));
    }

    /// The answer of a real agent, with its time.
    fn answer(&mut self, at: usize, time: Duration, message: &ToAgent) {
        let agent = &self.agents[at];
        let clock_ns = self.offset_ns[slot(agent.id.role)];
        let on_controllers = |ns: u64| Duration::from_nanos(ns - clock_ns);
        let (mut time, mut answers) = (time, Vec::new());
        match message {
            ToAgent::Hello { .. } => answers.push(FromAgent::Hello {
                protocol: PROTOCOL,
                version: "scripted".to_owned(),
            }),
            ToAgent::Describe { .. } => answers.push(FromAgent::Host(Box::default())),
            ToAgent::Clock => answers.push(FromAgent::Clock {
                now_ns: time.as_nanos() as u64 + clock_ns,
            }),
            ToAgent::Idle { length_ms } => {
                time += Duration::from_millis((*length_ms).into());
                answers.push(FromAgent::Idle(Box::new(IdleBaseline {
                    end_ns: u64::from(*length_ms) * 1_000_000,
                    ..IdleBaseline::default()
                })));
            }
            ToAgent::Constants { .. } => {
                time += Duration::from_secs(1);
                answers.push(FromAgent::Constants(Box::default()));
            }
            ToAgent::TryProfile => answers.push(FromAgent::Profilable),
            ToAgent::Observe { .. } => {
                answers.extend([
                    FromAgent::Host(Box::default()),
                    FromAgent::Done(Box::default()),
                ]);
            }
            ToAgent::Prepare(prepare) => answers.push(FromAgent::Listening {
                addresses: listening(prepare),
                origin: None,
            }),
            ToAgent::Meet { .. } => answers.push(FromAgent::Ready),
            ToAgent::Start(start) => {
                time = on_controllers(start.window_start_ns).max(time);
                let sample = FromAgent::Progress(Box::<Sample>::default());
                self.push(at, time, Ok(sample));
                time = on_controllers(start.stop_ns).max(time);
                answers.push(FromAgent::Sent {
                    sent: Vec::new(),
                    stalled_ms: None,
                });
            }
            ToAgent::Finish { .. } => {
                answers.extend(
                    agent
                        .prepared
                        .as_ref()
                        .map(|prepare| FromAgent::Done(Box::new(record(agent.id.role, prepare)))),
                );
            }
            ToAgent::Stop => answers.push(FromAgent::Stopped),
            ToAgent::Renew => answers.push(FromAgent::Alive),
            ToAgent::Route { .. } | ToAgent::AddressesOf { .. } | ToAgent::End => {}
        }
        for answer in answers {
            self.push(at, time, Ok(answer));
        }
    }
}

/// Where the agent that prepares a run listens for each part.
fn listening(prepare: &Prepare) -> Vec<Option<SocketAddr>> {
    let of_part = |(index, part): (usize, &bitcost_model::protocol::Part)| {
        let port = 5000 + index as u16;
        part.listen_on.map(|_| SocketAddr::new(ADDRESS, port))
    };
    prepare.parts.iter().enumerate().map(of_part).collect()
}

/// The record that the agent of a host declares for a run.
pub fn record(host: Role, prepare: &Prepare) -> EndpointRecord {
    let mut record = EndpointRecord {
        role: prepare.parts[0].role,
        pinned_cpus: vec![prepare.run, u32::from(host == Role::Receiver)],
        ..EndpointRecord::default()
    };
    record.counts.measured.bytes = u64::from(prepare.run) * 1000;
    record
}
