//! One run: both ends made ready, their clocks compared, started together, finished one after the other.

use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use model::conditions::Conditions;
use model::event::Event;
use model::place::IpVersion;
use model::record::{EndRecord, FlowRecord, Role};
use wire::{FromAgent, Prepare, Start, ToAgent, Token};

use crate::pair::{Pair, WaitError};
use crate::{Sink, Way};

/// How long both ends may take to be ready; a little more than they give each other.
const READY: Duration = Duration::from_secs(8);

/// How long the last messages of a run may take.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// How long an agent may take to tell its clock.
const CLOCK: Duration = Duration::from_secs(2);

/// Round trips made to compare clocks; the shortest one counts.
const CLOCK_ROUNDS: usize = 4;

/// Time from the last comparison of clocks to the first message, in ns, beside the control channels' delay.
const LEAD_NS: u64 = 10_000_000;

/// How long a sender goes on after the measured window, in ns, beside the uncertainty of the clocks.
const COOLDOWN_NS: u64 = 10_000_000;

/// Why a run has no result.
pub enum RunError {
    Stopped,
    Failed(String),
    Sink(String),
}

impl From<WaitError> for RunError {
    fn from(error: WaitError) -> RunError {
        match error {
            WaitError::Stopped => RunError::Stopped,
            WaitError::Failed(reason) => RunError::Failed(reason),
        }
    }
}

/// Executes one run and gives its last event.
pub fn execute(
    pair: &mut Pair,
    run: u32,
    conditions: &Conditions,
    stop: &AtomicBool,
    sink: &mut Sink,
) -> Result<Event, RunError> {
    prepare(pair, run, conditions, stop)?;
    let sender_clock = compare_clocks(pair, Role::Sender, stop)?;
    let receiver_clock = compare_clocks(pair, Role::Receiver, stop)?;
    let uncertainty_ns = (sender_clock.round_trip_ns + receiver_clock.round_trip_ns) / 2;
    let lead_ns = LEAD_NS + 4 * uncertainty_ns;
    let begin_ns = pair.now_ns() + lead_ns;
    pair.send(Role::Receiver, &ToAgent::Start(receiver_clock.start(begin_ns, uncertainty_ns, conditions)));
    pair.send(Role::Sender, &ToAgent::Start(sender_clock.start(begin_ns, uncertainty_ns, conditions)));
    let length = Duration::from_millis(conditions.warmup_ms.into()) + conditions.window_limit();
    let patience = Duration::from_nanos(lead_ns) + length + LAST_WORDS;
    let sender = done(pair, Role::Sender, run, patience, stop, sink)?;
    let sent = |flow: &FlowRecord| [flow.counts.measured.messages, flow.counts.total().messages];
    pair.send(Role::Receiver, &ToAgent::Finish { sent: sender.flows.iter().map(sent).collect() });
    let receiver = done(pair, Role::Receiver, run, LAST_WORDS, stop, sink)?;
    Ok(Event::RunEnded {
        run,
        start_uncertainty_us: uncertainty_ns as f64 / 1000.0,
        sender: Box::new(sender),
        receiver: Box::new(receiver),
    })
}

fn prepare(pair: &mut Pair, run: u32, conditions: &Conditions, stop: &AtomicBool) -> Result<(), RunError> {
    let token = token().map_err(RunError::Failed)?;
    let prepare = |pair: &mut Pair, role: Role| {
        let way = pair.way(role);
        Prepare {
            run,
            role,
            conditions: conditions.clone(),
            device: way.device.clone(),
            cpus: way.cpus.clone(),
            token,
            listen_on: None,
            connect_to: Vec::new(),
        }
    };
    let address = address(pair.way(Role::Receiver), conditions).map_err(RunError::Failed)?;
    let receiver = Prepare { listen_on: Some(address), ..prepare(pair, Role::Receiver) };
    pair.send(Role::Receiver, &ToAgent::Prepare(Box::new(receiver)));
    let listening = pair.wait(Role::Receiver, READY, "its listening socket", stop, |message| match message {
        FromAgent::Listening { addresses } => Some(addresses),
        _ => None,
    })?;
    let sender = Prepare { connect_to: listening, ..prepare(pair, Role::Sender) };
    pair.send(Role::Sender, &ToAgent::Prepare(Box::new(sender)));
    await_both_ready(pair, stop)
}

/// Where the receiver listens: where the run says, or at its address of the version of IP that is asked for.
fn address(receiver: &Way, conditions: &Conditions) -> Result<IpAddr, String> {
    let places = &conditions.places;
    let version = places.asked_version();
    let fits = |address: &&IpAddr| version.is_none_or(|version| version == IpVersion::of(**address));
    let found = places.receiver.address.or(receiver.addresses.iter().find(fits).copied());
    found.ok_or_else(|| {
        let version = version.map_or("", IpVersion::name);
        let have: Vec<String> = receiver.addresses.iter().map(IpAddr::to_string).collect();
        format!("the receiver at {} has no address of IPv{version}; it has: {}", receiver.place, have.join(", "))
    })
}

fn await_both_ready(pair: &mut Pair, stop: &AtomicBool) -> Result<(), RunError> {
    let mut waiting = vec![Role::Sender, Role::Receiver];
    while let Some(role) = waiting.last().copied() {
        let ready = |from, message| matches!(message, FromAgent::Ready { .. }).then_some(from);
        let from = pair.wait_with(role, READY, "its end to be ready", stop, &mut |_, _| Ok(()), ready)?;
        waiting.retain(|role| *role != from);
    }
    Ok(())
}

/// A secret for one run.
fn token() -> Result<Token, String> {
    let mut token = Token::default();
    let random =
        std::fs::File::open("/dev/urandom").and_then(|mut file| std::io::Read::read_exact(&mut file, &mut token));
    random.map(|()| token).map_err(|error| format!("cannot read /dev/urandom: {error}"))
}

/// How an agent's monotonic clock stands to the controller's.
struct ClockRelation {
    /// Agent's clock less the controller's, in ns.
    offset_ns: i128,
    /// Shortest round trip seen, in ns: the offset is known to half of it.
    round_trip_ns: u64,
}

impl ClockRelation {
    fn start(&self, begin_ns: u64, uncertainty_ns: u64, conditions: &Conditions) -> Start {
        let begin_ns = (i128::from(begin_ns) + self.offset_ns).max(0) as u64;
        let window_begin_ns = begin_ns + u64::from(conditions.warmup_ms) * 1_000_000;
        let window_end_ns = window_begin_ns + conditions.window_limit().as_nanos() as u64;
        Start { begin_ns, window_begin_ns, window_end_ns, stop_ns: window_end_ns + COOLDOWN_NS + uncertainty_ns }
    }
}

fn compare_clocks(pair: &mut Pair, role: Role, stop: &AtomicBool) -> Result<ClockRelation, RunError> {
    let mut best: Option<ClockRelation> = None;
    for _ in 0..CLOCK_ROUNDS {
        let asked_ns = pair.now_ns();
        pair.send(role, &ToAgent::Clock);
        let agent_ns = pair.wait(role, CLOCK, "its clock", stop, |message| match message {
            FromAgent::Clock { now_ns } => Some(now_ns),
            _ => None,
        })?;
        let round_trip_ns = pair.now_ns() - asked_ns;
        let middle_ns = asked_ns + round_trip_ns / 2;
        let relation = ClockRelation { offset_ns: i128::from(agent_ns) - i128::from(middle_ns), round_trip_ns };
        if best.as_ref().is_none_or(|best| relation.round_trip_ns < best.round_trip_ns) {
            best = Some(relation);
        }
    }
    best.ok_or_else(|| RunError::Failed("no clock was compared".into()))
}

fn done(
    pair: &mut Pair,
    role: Role,
    run: u32,
    patience: Duration,
    stop: &AtomicBool,
    sink: &mut Sink,
) -> Result<EndRecord, RunError> {
    let mut refused = None;
    let mut progress = |role, sample| {
        sink(Event::Progress { run, role, sample }).map_err(|reason| {
            refused = Some(reason);
            WaitError::Stopped
        })
    };
    let record = |from, message| match message {
        FromAgent::Done(record) if from == role => Some(*record),
        _ => None,
    };
    let result = pair.wait_with(role, patience, "the end of its traffic", stop, &mut progress, record);
    match refused {
        Some(reason) => Err(RunError::Sink(reason)),
        None => Ok(result?),
    }
}
