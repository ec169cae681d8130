//! One run: both endpoints are prepared, their clocks compared, and they start and finish together.
//!
//! Agents are named by their hosts, which are called sender and receiver; the direction of a part
//! determines the role of each in it.

use std::net::IpAddr;
use std::time::Duration;

use bitcost_model::Unavailable;
use bitcost_model::conditions::Conditions;
use bitcost_model::event::Event;
use bitcost_model::place::IpVersion;
use bitcost_model::protocol::{
    Addresses, DRAIN_MAX, FromAgent, Part, Peer, Prepare, SentCounts, Start, ToAgent, Token,
};
use bitcost_model::record::{EndpointRecord, Role};

use crate::endpoint::Endpoint;
use crate::error::RunError;
use crate::pair::{Pair, pick};

pub type Sink<'a> = dyn FnMut(Event) -> Result<(), Unavailable> + 'a;

const HOSTS: [Role; 2] = [Role::Sender, Role::Receiver];

/// The time that both endpoints may take to be ready; slightly more than they allow each other.
const READY: Duration = Duration::from_secs(8);

const READY_FLOW: Duration = Duration::from_millis(10);

/// The time that the last messages of a run may take, after what was sent has arrived.
const LAST_MESSAGES: Duration = DRAIN_MAX.saturating_add(Duration::from_secs(10));

const CLOCK: Duration = Duration::from_secs(2);

/// Round trips made to compare clocks; the shortest one counts.
const CLOCK_ROUNDS: usize = 4;

/// Time from the last comparison of clocks to the first message, in ns, in addition to the delay of
/// the control channels.
const LEAD_NS: u64 = 10_000_000;

/// The time for which a sender continues after the measured window, in ns, in addition to the
/// uncertainty of the clocks.
const COOLDOWN_NS: u64 = 10_000_000;

pub fn execute(
    pair: &mut Pair,
    run: u32,
    conditions: &Conditions,
    sink: &mut Sink,
) -> Result<Event, RunError> {
    let parts = conditions.parts();
    prepare(pair, run, &parts)?;
    let clocks = [
        compare_clocks(pair, Role::Sender)?,
        compare_clocks(pair, Role::Receiver)?,
    ];
    let uncertainty_ns = clocks.iter().map(|clock| clock.round_trip_ns).sum::<u64>() / 2;
    let lead_ns = LEAD_NS + 4 * uncertainty_ns;
    let begin_ns = pair.now_ns() + lead_ns;
    for (host, clock) in HOSTS.into_iter().zip(&clocks) {
        pair.send(
            host,
            &ToAgent::Start(clock.start(begin_ns, uncertainty_ns, conditions)),
        );
    }
    let length = Duration::from_millis(conditions.warmup_ms.into()) + conditions.window_limit();
    let patience = Duration::from_nanos(lead_ns) + length + LAST_MESSAGES;
    let role_of = |host: Role| parts[0].direction.role_of(host);
    let [mut first, mut second] = Finish {
        pair: &mut *pair,
        run,
        role_of: &role_of,
        sink,
    }
    .records(patience)?;
    if let Some([of_first, of_second]) = pair.idle.clone() {
        let mut known = |host, idle| pair.endpoint(host).peer.is_bitcost().then_some(idle);
        (first.idle, second.idle) = (
            known(Role::Sender, of_first),
            known(Role::Receiver, of_second),
        );
    }
    let (sender, receiver) = if role_of(Role::Sender) == Role::Sender {
        (first, second)
    } else {
        (second, first)
    };
    Ok(Event::RunEnded {
        run,
        start_uncertainty_us: uncertainty_ns as f64 / 1000.0,
        sender: Box::new(sender),
        receiver: Box::new(receiver),
    })
}

/// Prepares both endpoints: each opens its listening sockets, then connects to those of the other.
fn prepare(pair: &mut Pair, run: u32, parts: &[Conditions]) -> Result<(), RunError> {
    let failed = |why: String| RunError::Failed(why.into());
    let token = token().map_err(failed)?;
    let peers = HOSTS.map(|host| pair.endpoint(host).peer);
    for host in HOSTS {
        let peer = peers[usize::from(host == Role::Sender)];
        let (peer_cpu, softirq_cpus) = across(pair, host, parts);
        let endpoint = pair.endpoint(host);
        let part = |part: &Conditions| {
            let role = part.direction.role_of(host);
            let listen_on = (role == Role::Receiver && peer.is_bitcost())
                .then(|| address(endpoint, part))
                .transpose()?;
            Ok(Part {
                role,
                conditions: part.clone(),
                listen_on,
            })
        };
        let parts: Result<Vec<Part>, String> = parts.iter().map(part).collect();
        let parts = parts.map_err(failed)?;
        let prepare = Prepare {
            run,
            device: endpoint.device.clone(),
            cpus: endpoint.cpus.clone(),
            peer_cpu,
            softirq_cpus,
            token,
            parts,
            receiving: endpoint.receiving,
            peer,
            confinement: None,
            is_profiled: pair.is_profiled[usize::from(host == Role::Receiver)],
        };
        pair.send(host, &ToAgent::Prepare(Box::new(prepare)));
    }
    let patience = READY + READY_FLOW * parts.iter().map(|part| part.flows).sum::<u32>();
    let pick = pick!(FromAgent::Listening { addresses, origin } => (addresses, origin));
    let listening = from_both(pair, patience, "its listening sockets", pick)?;
    for (host, (addresses, origin)) in HOSTS.into_iter().zip(listening) {
        let other = peers[usize::from(host == Role::Sender)];
        check_addresses(pair.endpoint(host), other, host, parts, &addresses).map_err(failed)?;
        pair.send(host.other(), &ToAgent::Meet { addresses, origin });
    }
    let pick = pick!(FromAgent::Ready => ());
    from_both(pair, patience, "its endpoint to be ready", pick)?;
    Ok(())
}

/// What the host called sender measures on the CPUs of both hosts of a lab, which are on one machine:
/// the distance to this CPU of the other's traffic, and the soft interrupts of these CPUs. Two that
/// measure it would cost twice as much.
fn across(pair: &mut Pair, host: Role, parts: &[Conditions]) -> (Option<u32>, Vec<u32>) {
    let is_lab = HOSTS
        .iter()
        .all(|host| pair.endpoint(*host).receiving.is_some());
    if host != Role::Sender || !is_lab {
        return (None, Vec::new());
    }
    let cpus = HOSTS.map(|host| pair.endpoint(host).cpus.clone());
    let far = &pair.endpoint(Role::Receiver).cpus;
    let asked = parts.first().map(|first| {
        let role = first.direction.role_of(Role::Receiver);
        &first.places.end(role).cpus
    });
    let peer_cpu = asked.and_then(|asked| asked.first()).or(far.first());
    (peer_cpu.copied(), cpus.concat())
}

/// The address at which the receiver listens: the one that the run names, or its first one of the
/// requested IP version.
fn address(receiver: &Endpoint, part: &Conditions) -> Result<IpAddr, String> {
    let places = &part.places;
    let version = places.asked_version();
    let fits = |address: &&IpAddr| IpVersion::fits(version, **address);
    let found = places
        .receiver
        .address
        .or(receiver.addresses.iter().find(fits).copied());
    found.ok_or_else(|| {
        let version = version.map_or("4 or IPv6", IpVersion::name);
        let have: Vec<String> = receiver.addresses.iter().map(IpAddr::to_string).collect();
        format!(
            "the host at {} has no IPv{version} address; it has: {}",
            receiver.place,
            have.join(", ")
        )
    })
}

/// Checks that a host listens at the requested address, once for each flow: an agent must not
/// direct the other one elsewhere.
fn check_addresses(
    endpoint: &Endpoint,
    other: Peer,
    host: Role,
    parts: &[Conditions],
    reported: &Addresses,
) -> Result<(), String> {
    let refused = |what: String| {
        Err(format!(
            "{} agent at {} reports that {what}",
            host.name(),
            endpoint.place
        ))
    };
    if reported.len() != parts.len() {
        return refused(format!(
            "it listens for {} workloads instead of {}",
            reported.len(),
            parts.len()
        ));
    }
    for (part, addresses) in parts.iter().zip(reported) {
        // An iperf3 server accepts the connections of all parts.
        let accepts = match (endpoint.peer, other) {
            (Peer::Iperf3, _) => true,
            (_, Peer::Iperf3) => false,
            _ => part.direction.role_of(host) == Role::Receiver,
        };
        let flows = if accepts { part.flows as usize } else { 0 };
        if addresses.len() != flows {
            return refused(format!(
                "it listens at {} addresses for {flows} flows",
                addresses.len()
            ));
        }
        if !accepts {
            continue;
        }
        let asked = match endpoint.peer {
            Peer::Bitcost => address(endpoint, part)?,
            Peer::Iperf3 => *endpoint.addresses.first().ok_or("no address of iperf3")?,
        };
        if let Some(other) = addresses
            .iter()
            .find(|address| address.ip() != asked || address.port() == 0)
        {
            return refused(format!(
                "it listens at {other}, but the address of this path is {asked}, so nothing is sent there; check that both hosts run the same bitcost"
            ));
        }
    }
    Ok(())
}

/// The answers of both hosts to the same request, in their order.
pub fn from_both<T>(
    pair: &mut Pair,
    patience: Duration,
    what: &str,
    pick: impl Fn(FromAgent) -> Option<T>,
) -> Result<[T; 2], RunError> {
    let (mut sender, mut receiver) = (None, None);
    loop {
        let late = match (sender, receiver) {
            (Some(sender), Some(receiver)) => return Ok([sender, receiver]),
            (found, other) => {
                (sender, receiver) = (found, other);
                if receiver.is_none() {
                    Role::Receiver
                } else {
                    Role::Sender
                }
            }
        };
        let answer = |from, message| Some((from, pick(message)?));
        let (from, found) = pair.wait_with(late, patience, what, &mut |_, _| Ok(()), answer)?;
        match from {
            Role::Sender => sender = Some(found),
            Role::Receiver => receiver = Some(found),
        }
    }
}

fn token() -> Result<Token, String> {
    let mut token = Token::default();
    getrandom::fill(&mut token)
        .map(|()| token)
        .map_err(|error| format!("the kernel gives no random numbers: {error}"))
}

struct ClockRelation {
    /// Agent's clock minus the controller's, in ns.
    offset_ns: i128,
    /// Shortest round trip seen, in ns: the offset is known to within half of it.
    round_trip_ns: u64,
}

impl ClockRelation {
    fn start(&self, begin_ns: u64, uncertainty_ns: u64, conditions: &Conditions) -> Start {
        let begin_ns = (i128::from(begin_ns) + self.offset_ns).max(0) as u64;
        let window_start_ns = begin_ns + u64::from(conditions.warmup_ms) * 1_000_000;
        let window_end_ns = window_start_ns + conditions.window_limit().as_nanos() as u64;
        Start {
            begin_ns,
            window_start_ns,
            window_end_ns,
            stop_ns: window_end_ns + COOLDOWN_NS + uncertainty_ns,
        }
    }
}

fn compare_clocks(pair: &mut Pair, role: Role) -> Result<ClockRelation, RunError> {
    let mut best: Option<ClockRelation> = None;
    for _ in 0..CLOCK_ROUNDS {
        let asked_ns = pair.now_ns();
        pair.send(role, &ToAgent::Clock);
        let pick = pick!(FromAgent::Clock { now_ns } => now_ns);
        let agent_ns = pair.wait(role, CLOCK, "its clock", pick)?;
        let round_trip_ns = pair.now_ns() - asked_ns;
        let middle_ns = asked_ns + round_trip_ns / 2;
        let relation = ClockRelation {
            offset_ns: i128::from(agent_ns) - i128::from(middle_ns),
            round_trip_ns,
        };
        if best
            .as_ref()
            .is_none_or(|best| relation.round_trip_ns < best.round_trip_ns)
        {
            best = Some(relation);
        }
    }
    best.ok_or_else(|| RunError::Failed("no clock was compared".to_owned().into()))
}

enum Last {
    Sent(SentCounts),
    Done(Box<EndpointRecord>),
}

/// The end of a run: each endpoint reports its sent messages, receives the other one's report, and
/// sends its record.
struct Finish<'a, 'b, 'c> {
    pair: &'a mut Pair<'c>,
    run: u32,
    role_of: &'a dyn Fn(Role) -> Role,
    sink: &'a mut Sink<'b>,
}

impl Finish<'_, '_, '_> {
    fn records(mut self, mut patience: Duration) -> Result<[EndpointRecord; 2], RunError> {
        let mut has_sent = [false; 2];
        let mut records = [None, None];
        loop {
            let late = match records {
                [Some(first), Some(second)] => return Ok([first, second]),
                [first, second] => {
                    records = [first, second];
                    self.late(has_sent, [records[0].is_some(), records[1].is_some()])
                }
            };
            let (host, last) = self.next(late, patience)?;
            patience = LAST_MESSAGES;
            let slot = usize::from(host == Role::Receiver);
            match last {
                Last::Sent(sent) => {
                    has_sent[slot] = true;
                    self.pair.send(host.other(), &ToAgent::Finish { sent });
                }
                Last::Done(record) => records[slot] = Some(*record),
            }
        }
    }

    /// The host whose message is awaited; the run's sender reports first.
    fn late(&self, has_sent: [bool; 2], is_done: [bool; 2]) -> Role {
        let mut hosts = HOSTS
            .into_iter()
            .zip(has_sent.into_iter().zip(is_done))
            .collect::<Vec<_>>();
        hosts.sort_by_key(|(host, (sent, done))| (*sent, *done, (self.role_of)(*host)));
        hosts[0].0
    }

    fn next(&mut self, late: Role, patience: Duration) -> Result<(Role, Last), RunError> {
        let mut progress = |host, sample| {
            (self.sink)(Event::Progress {
                run: self.run,
                role: (self.role_of)(host),
                sample: Box::new(sample),
            })
            .map_err(RunError::Sink)
        };
        let pick = |from, message| match message {
            FromAgent::Sent { sent } => Some((from, Last::Sent(sent))),
            FromAgent::Done(record) => Some((from, Last::Done(record))),
            _ => None,
        };
        self.pair.wait_with(
            late,
            patience,
            "the end of its traffic",
            &mut progress,
            pick,
        )
    }
}
