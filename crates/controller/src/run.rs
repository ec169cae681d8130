//! One run: both endpoints are prepared, their clocks compared, and they start and finish together.
//!
//! Agents are named by their hosts, which are called sender and receiver; the direction of a part
//! determines the role of each in it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bitcost_model::Unavailable;
use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::event::Event;
use bitcost_model::place::{IpVersion, is_of_one_link};
use bitcost_model::protocol::{
    Addresses, DRAIN_MAX, FromAgent, Lease, Part, Peer, Prepare, SentCounts, ToAgent, Token,
};
use bitcost_model::readings::Readings;
use bitcost_model::record::{EndpointRecord, Role, Sample};

use crate::clock::ClockRelation;
use crate::endpoint::Endpoint;
use crate::error::RunError;
use crate::pair::{ANSWER, Pair, pick};

pub type Sink<'a> = dyn FnMut(Event) -> Result<(), Unavailable> + 'a;

/// The time that both endpoints may take to be ready; slightly more than they allow each other and the links of their cards.
const READY: Duration = Duration::from_secs(16);

const READY_FLOW: Duration = Duration::from_millis(10);

/// The time that the last messages of a run may take, after what was sent has arrived.
const LAST_MESSAGES: Duration = DRAIN_MAX.saturating_add(Duration::from_secs(10));

pub const STOPPED: &str = "stopped by the user";

const CLOCK: Duration = Duration::from_secs(2);

/// Round trips made to compare clocks; the shortest one counts.
const CLOCK_ROUNDS: usize = 4;

/// A round trip that is longer than this, in ns, is made once: it varies by a small part of its length.
const FAR_NS: u64 = 10_000_000;

/// A comparison over such a round trip counts for as many of them: meanwhile clocks that differ by 100 parts in a million
/// drift by a tenth of one.
const COMPARED_TRIPS: u64 = 1000;

/// Time from the last comparison of clocks to the first message, in ns, in addition to the delay of the control channels.
/// That is taken as half of a round trip: a host that a start reaches later warms up for less time.
const LEAD_NS: u64 = 10_000_000;

/// Makes a run; one that `keeps` what it measured has a record of each endpoint also where it is ended before its time.
pub fn execute(
    pair: &mut Pair,
    run: u32,
    (conditions, keeps): (&Conditions, bool),
    sink: &mut Sink,
) -> Result<Event, RunError> {
    let parts = conditions.parts();
    pair.outage = if keeps {
        conditions.outage_timeout()
    } else {
        Duration::ZERO
    };
    pair.has_failed = [false; 2];
    prepare(pair, run, &parts)?;
    let clocks = [
        compare_clocks(pair, Role::Sender)?,
        compare_clocks(pair, Role::Receiver)?,
    ];
    let uncertainty_ns = clocks.iter().map(|clock| clock.round_trip_ns).sum::<u64>() / 2;
    let warmup = Duration::from_millis(conditions.warmup_ms.into());
    let late_ns = uncertainty_ns.saturating_sub(warmup.as_nanos() as u64);
    let lead_ns = LEAD_NS + uncertainty_ns + late_ns;
    let begin_ns = pair.now_ns() + lead_ns;
    for (host, clock) in Role::ALL.into_iter().zip(&clocks) {
        pair.send(
            host,
            &ToAgent::Start(clock.start(begin_ns, uncertainty_ns, conditions)),
        );
    }
    let length = warmup + conditions.window_limit();
    let role_of = |host: Role| parts[0].direction.role_of(host);
    let mut finish = Finish {
        pair: &mut *pair,
        run,
        role_of: &role_of,
        sink,
        readings: keeps.then(Default::default),
        has_sent: [false; 2],
        interrupted: None,
    };
    let records = finish.records(Duration::from_nanos(lead_ns) + length);
    let interrupted = finish.interrupted;
    let [mut first, mut second] = match records {
        Err(_) if interrupted.as_deref() == Some(STOPPED) => return Err(RunError::Stopped),
        records => records?,
    };
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
        interrupted,
        sender: Box::new(sender),
        receiver: Box::new(receiver),
    })
}

/// Whether the congestion control that a run requests does nothing at an end that only receives: `dctcp` alone also decides
/// how marks are acknowledged (RFC 8257, section 3.2).
fn is_idle_at_receiver(part: &Conditions) -> bool {
    let is_dctcp = part.congestion_control.as_deref() == Some("dctcp");
    part.workload == Workload::TcpStream && !is_dctcp
}

/// Prepares both endpoints: each opens its listening sockets, then connects to those of the other.
fn prepare(pair: &mut Pair, run: u32, parts: &[Conditions]) -> Result<(), RunError> {
    let failed = |why: String| RunError::Failed(why.into());
    let token = token().map_err(failed)?;
    let peers = Role::ALL.map(|host| pair.endpoint(host).peer);
    let services = Role::ALL.map(|host| pair.endpoint(host).service);
    for host in Role::ALL {
        let peer = peers[host.other() as usize];
        let (peer_cpu, softirq_cpus) = across(pair, host, parts);
        let is_remote = pair.lease(host) > Lease::LENGTH;
        let endpoint = pair.endpoint(host);
        let part = |part: &Conditions| {
            let role = part.direction.role_of(host);
            let listens = peer.is_bitcost() && listens(services, host, part);
            let listen_on = listens.then(|| address(endpoint, part)).transpose()?;
            let mut conditions = part.clone();
            if role == Role::Receiver && is_idle_at_receiver(part) {
                conditions.congestion_control = None;
            }
            bind_to_link(endpoint, role, &mut conditions);
            Ok(Part {
                role,
                conditions,
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
            is_remote,
            is_profiled: pair.is_profiled[host as usize],
            discards: pair.discards,
        };
        pair.send(host, &ToAgent::Prepare(Box::new(prepare)));
    }
    let patience = READY + READY_FLOW * parts.iter().map(|part| part.flows).sum::<u32>();
    let pick = pick!(FromAgent::Listening { addresses, origin } => (addresses, origin));
    let listening = from_both(pair, patience, "its listening sockets", pick)?;
    for (host, (addresses, origin)) in Role::ALL.into_iter().zip(listening) {
        let other = peers[host.other() as usize];
        let listens = |part: &Conditions| other.is_bitcost() && listens(services, host, part);
        let endpoint = pair.endpoint(host);
        let parts: Vec<(&Conditions, bool)> =
            parts.iter().map(|part| (part, listens(part))).collect();
        let addresses = check_addresses(endpoint, host, &parts, addresses);
        let addresses = addresses.map_err(failed)?;
        pair.send(host.other(), &ToAgent::Meet { addresses, origin });
    }
    let pick = pick!(FromAgent::Ready => ());
    from_both(pair, patience, "its endpoint to be ready", pick)?;
    Ok(())
}

/// Whether this host waits for the flows of a part: a service does for all of them, else the receiver.
fn listens(services: [Option<SocketAddr>; 2], host: Role, part: &Conditions) -> bool {
    match services {
        [Some(_), None] => host == Role::Sender,
        [None, Some(_)] => host == Role::Receiver,
        _ => part.direction.role_of(host) == Role::Receiver,
    }
}

/// Between addresses of one link sockets are bound to the interface there; a service's have that of its client's connection.
fn bind_to_link(endpoint: &Endpoint, role: Role, part: &mut Conditions) {
    let own = endpoint.addresses.first();
    if endpoint.service.is_none() && own.is_some_and(|own| is_of_one_link(*own)) {
        let ends = [&mut part.places.sender, &mut part.places.receiver];
        let device = endpoint.device.clone();
        ends[role as usize].device.get_or_insert(device);
    }
}

/// What the host called sender measures on the CPUs of both hosts of a lab, which are on one machine:
/// the distance to this CPU of the other's traffic, and the soft interrupts of these CPUs. Two that
/// measure it would cost twice as much.
fn across(pair: &mut Pair, host: Role, parts: &[Conditions]) -> (Option<u32>, Vec<u32>) {
    let is_lab = Role::ALL
        .iter()
        .all(|host| pair.endpoint(*host).receiving.is_some());
    if host != Role::Sender || !is_lab {
        return (None, Vec::new());
    }
    let cpus = Role::ALL.map(|host| pair.endpoint(host).cpus.clone());
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

/// Checks that a host listens at the requested address for each part for which it is to, as is said of each: an agent must not direct the other one
/// elsewhere. Returns where the other one reaches it.
fn check_addresses(
    endpoint: &Endpoint,
    host: Role,
    parts: &[(&Conditions, bool)],
    reported: Addresses,
) -> Result<Addresses, String> {
    let refused = |what: String| {
        let (role, place) = (host.name(), &endpoint.place);
        Err(format!("{role} agent at {place} reports that {what}"))
    };
    let is_iperf3 = endpoint.peer == Peer::Iperf3;
    let expected = parts.iter().map(|(_, listens)| is_iperf3 || *listens);
    if !expected.eq(reported.iter().map(Option::is_some)) {
        return refused("it listens for other workloads than it should".to_owned());
    }
    for ((part, _), reported) in parts.iter().zip(&reported) {
        let Some(reported) = reported.filter(|_| endpoint.service.is_none()) else {
            continue;
        };
        let asked = match endpoint.peer {
            Peer::Bitcost => address(endpoint, part)?,
            Peer::Iperf3 => *endpoint.addresses.first().ok_or("no address of iperf3")?,
        };
        if reported.ip() != asked || reported.port() == 0 {
            return refused(format!(
                "it listens at {reported}, but the address of this path is {asked}, so nothing is sent there; check that both hosts run the same bitcost"
            ));
        }
    }
    // The number of a link is one of that host alone.
    let reached = |at: SocketAddr| endpoint.service.unwrap_or((at.ip(), at.port()).into());
    Ok(reported.into_iter().map(|at| at.map(reached)).collect())
}

/// The answers of both hosts to the same request, in their order.
pub fn from_both<T>(
    pair: &mut Pair,
    patience: Duration,
    what: &str,
    pick: impl Fn(FromAgent) -> Option<T>,
) -> Result<[T; 2], RunError> {
    let mut answers = [None, None];
    loop {
        answers = match answers {
            [Some(sender), Some(receiver)] => return Ok([sender, receiver]),
            open => open,
        };
        let late = match answers[Role::Receiver as usize] {
            None => Role::Receiver,
            Some(_) => Role::Sender,
        };
        let answer = |from, message| Some((from, pick(message)?));
        let (from, found) = pair.wait_with(late, patience, what, &mut |_, _| Ok(()), answer)?;
        answers[from as usize] = Some(found);
    }
}

fn token() -> Result<Token, String> {
    let mut token = Token::default();
    getrandom::fill(&mut token)
        .map(|()| token)
        .map_err(|error| format!("the kernel gives no random numbers: {error}"))
}

fn compare_clocks(pair: &mut Pair, role: Role) -> Result<ClockRelation, RunError> {
    let now_ns = pair.now_ns();
    let is_new = |known: &ClockRelation| {
        now_ns.saturating_sub(known.at_ns) < COMPARED_TRIPS * known.round_trip_ns
    };
    if let Some(known) = pair.clocks[role as usize].filter(is_new) {
        return Ok(known);
    }
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
            at_ns: asked_ns,
        };
        if best
            .as_ref()
            .is_none_or(|best| relation.round_trip_ns < best.round_trip_ns)
        {
            best = Some(relation);
        }
        if round_trip_ns > FAR_NS {
            pair.clocks[role as usize] = best;
            break;
        }
    }
    best.ok_or_else(|| RunError::Failed("no clock was compared".to_owned().into()))
}

enum Last {
    Sent(SentCounts, Option<u64>),
    Done(Box<EndpointRecord>),
}

/// The end of a run: each endpoint reports its sent messages, receives the other one's report, and
/// sends its record.
struct Finish<'a, 'b, 'c> {
    pair: &'a mut Pair<'c>,
    run: u32,
    role_of: &'a dyn Fn(Role) -> Role,
    sink: &'a mut Sink<'b>,
    /// What each host reported in its window; absent where a run that is ended before its time is not kept.
    readings: Option<[Readings; 2]>,
    has_sent: [bool; 2],
    /// Why the run ended before its time.
    interrupted: Option<String>,
}

impl Finish<'_, '_, '_> {
    /// The records of both hosts; their windows end after this time.
    fn records(&mut self, length: Duration) -> Result<[EndpointRecord; 2], RunError> {
        let mut patience = length + self.last_messages();
        let mut records = [None, None];
        loop {
            records = match records {
                [Some(first), Some(second)] => return Ok([first, second]),
                open => open,
            };
            let late = self.late([records[0].is_some(), records[1].is_some()]);
            match self.next(late, patience) {
                Ok((host, Last::Sent(sent, stalled_ms))) => self.sent(host, sent, stalled_ms),
                Ok((host, Last::Done(record))) => records[host as usize] = Some(*record),
                Err(RunError::Stopped) if self.readings.is_some() => self.stop(),
                Err(error) => self.keep(&mut records, error)?,
            }
            patience = self.last_messages();
        }
    }

    /// The time that the last messages may take, of an agent that may be silent for as long as its lease, too.
    fn last_messages(&mut self) -> Duration {
        let silence = Role::ALL
            .map(|host| self.pair.lease(host))
            .into_iter()
            .max();
        LAST_MESSAGES.max(silence.unwrap_or_default() + ANSWER)
    }

    /// Passes on what a host sent. One that has waited for data in vain ends the other one's window, too.
    fn sent(&mut self, host: Role, sent: SentCounts, stalled_ms: Option<u64>) {
        self.has_sent[host as usize] = true;
        if let Some(tenths) = stalled_ms.map(|ms| ms / 100) {
            self.interrupt(format!("no data moved for {} s", tenths as f64 / 10.0));
        }
        self.pair.send(host.other(), &ToAgent::Finish { sent });
    }

    /// Ends the windows, that of the run's receiver first: the end of the sender's traffic must not overtake it.
    fn interrupt(&mut self, why: String) {
        if self.interrupted.is_some() {
            return;
        }
        self.interrupted = Some(why);
        let mut hosts = Role::ALL;
        hosts.sort_by_key(|host| (self.role_of)(*host) == Role::Sender);
        for host in hosts
            .into_iter()
            .filter(|host| !self.has_sent[*host as usize])
        {
            self.pair.send(host, &ToAgent::End);
        }
    }

    /// Ends the windows; an agent that cannot be reached is not awaited for as long as the run waits for data.
    fn stop(&mut self) {
        self.pair.ignore_stop();
        self.pair.outage = Duration::ZERO;
        self.interrupt(STOPPED.to_owned());
    }

    /// Makes the record of an agent that is gone from what it reported, and of one that failed because the other is gone;
    /// ends the window of one that still plays.
    fn keep(
        &mut self,
        records: &mut [Option<EndpointRecord>; 2],
        error: RunError,
    ) -> Result<(), RunError> {
        let (Some(readings), RunError::Failed(told) | RunError::Lost(told)) =
            (&mut self.readings, &error)
        else {
            return Err(error);
        };
        let mut lost = Vec::new();
        let is_any_gone = Role::ALL.into_iter().any(|host| self.pair.is_gone(host));
        for host in Role::ALL.into_iter().filter(|_| is_any_gone) {
            let is_lost = self.pair.is_gone(host) || self.pair.has_failed[host as usize];
            if records[host as usize].is_some() || !is_lost {
                continue;
            }
            let readings = std::mem::take(&mut readings[host as usize]);
            let record = EndpointRecord::of_readings((self.role_of)(host), readings.all());
            let Some(record) = record else {
                return Err(error);
            };
            records[host as usize] = Some(record);
            lost.push(host);
        }
        if lost.is_empty() {
            return Err(error);
        }
        for host in lost {
            if !std::mem::replace(&mut self.has_sent[host as usize], true) {
                let sent = Vec::new();
                self.pair.send(host.other(), &ToAgent::Finish { sent });
            }
        }
        self.interrupt(told.to_string());
        Ok(())
    }

    /// The host whose message is awaited; the run's sender reports first.
    fn late(&self, is_done: [bool; 2]) -> Role {
        let mut hosts = Role::ALL
            .into_iter()
            .zip(self.has_sent.into_iter().zip(is_done))
            .collect::<Vec<_>>();
        hosts.sort_by_key(|(host, (sent, done))| (*sent, *done, (self.role_of)(*host)));
        hosts[0].0
    }

    fn next(&mut self, late: Role, patience: Duration) -> Result<(Role, Last), RunError> {
        let mut progress = |host, sample: Sample| {
            if let Some(readings) = &mut self.readings {
                readings[host as usize].push(sample.clone());
            }
            (self.sink)(Event::Progress {
                run: self.run,
                role: (self.role_of)(host),
                sample: Box::new(sample),
            })
            .map_err(RunError::Sink)
        };
        let pick = |from, message| match message {
            FromAgent::Sent { sent, stalled_ms } => Some((from, Last::Sent(sent, stalled_ms))),
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
