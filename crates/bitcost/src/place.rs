//! The place of an execution: the embedded lab, its two hosts, and the CPUs of each end.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use drive::{Between, DriveError, Ends, Session, Way};
use lab::{Lab, LabError, NapiState};
use metrics::RunView;
use model::conditions::Conditions;
use model::event::{EndDescription, ProgramUsed};
use model::ping::{Pings, RttCheck};
use model::record::{EndRecord, InForce, Role};
use model::study::LabSpec;
use model::topology::show_limit;

use crate::failure::Failure;
use crate::programs::Programs;
use crate::verbs::host;

/// A lab that stands and the ways to its hosts.
pub struct Place {
    /// To both ends; the lab stands as long as these.
    pub ends: Ends,
    /// What was asked of the lab and is not so.
    pub notes: Vec<String>,
    /// The round trip between the ends as it was asked for and as it is; absent where nothing is asked of the network.
    pub rtt: Option<RttCheck>,
    /// Round trips with nothing else under way; absent where nobody asked for them, or none could be made.
    pub idle: Option<Pings>,
    /// Whether the interface of each end, the sender's first, receives in kernel threads, as the lab set it.
    pub napi_threaded: [bool; 2],
    /// Makes the network as a run asks.
    between: Between,
}

/// Agents at both ends, and what is known of the place.
pub struct Prepared<'a> {
    /// Both agents.
    pub session: Session<'a>,
    /// What both ends are.
    pub ends: Vec<EndDescription>,
    /// As [`Place::notes`].
    pub notes: Vec<String>,
    /// As [`Place::rtt`].
    pub rtt: Option<RttCheck>,
    /// As [`Place::idle`].
    pub idle: Option<Pings>,
    /// Whether both ends run on the CPUs of one machine.
    pub shared_cpus: bool,
    /// The programs that play the ends, where runs name any.
    pub programs: Vec<ProgramUsed>,
}

/// What a view of a run must know of its place.
#[derive(Clone, Copy)]
pub struct Facts {
    shared_cpus: bool,
    napi_threaded: bool,
}

impl Facts {
    /// A run as its formulas see it.
    pub fn view<'a>(self, sender: &'a EndRecord, receiver: &'a EndRecord, conditions: &'a Conditions) -> RunView<'a> {
        let Facts { shared_cpus, napi_threaded } = self;
        RunView { sender, receiver, conditions, shared_cpus, napi_threaded, ceiling_mbps: None }
    }
}

impl Prepared<'_> {
    /// Checks that the programs that runs name can play the ends, before any of it is in a log.
    ///
    /// # Errors
    /// When one does not start or speaks another version of the control protocol.
    pub fn try_programs(&mut self, programs: &Programs) -> Result<(), Failure> {
        programs.others().try_for_each(|program| self.session.try_program(program))?;
        self.programs = programs.used()?;
        Ok(())
    }

    /// Whether both ends are on one host, which one of them alone can set.
    pub fn is_one_host(&self) -> bool {
        self.ends.iter().all(|end| end.place == self.ends[0].place)
    }

    /// What a view of a run must know.
    pub fn facts(&self) -> Facts {
        let napi_threaded = self.ends.last().and_then(|end| end.host.device.napi_threaded) == Some(true);
        Facts { shared_cpus: self.shared_cpus, napi_threaded }
    }
}

impl Place {
    /// Starts the agents and asks them what their ends are. Kernels before 6.8 do not tell an agent whether its
    /// interface receives in kernel threads; there it is what the lab set and read back.
    ///
    /// # Errors
    /// When an agent cannot be started or cannot tell.
    pub fn prepare(self, stop: &AtomicBool) -> Result<Prepared<'_>, DriveError> {
        let mut session = Session::open(self.ends, stop)?;
        session.set_between(self.between);
        let mut ends = session.describe()?;
        for (end, threaded) in ends.iter_mut().zip(self.napi_threaded) {
            end.host.device.napi_threaded.get_or_insert(threaded);
        }
        let Place { notes, rtt, idle, .. } = self;
        Ok(Prepared { session, ends, notes, rtt, idle, shared_cpus: true, programs: Vec::new() })
    }
}

/// Builds the embedded lab, whose ends are played by these programs, and checks that its ends reach each other in the time
/// that was asked for. Where nothing is asked of its network they are pinged only if `pinged`.
///
/// # Errors
/// Environment, when the kernel does not allow it; the message says what to do. Check, when the delay is not as asked.
pub fn embedded(spec: &LabSpec, programs: &Arc<Programs>, pinged: bool) -> Result<Place, Failure> {
    host::check_is_as_found()?;
    let gone = || Failure::Usage(format!("the lab {} is of an older version and says not what it is", spec.topology));
    let topology = spec.network.as_ref().ok_or_else(gone)?;
    let lab = Arc::new(Lab::up(&PathBuf::from("/proc/self/exe"), topology)?);
    let (rtt, idle) = match topology.has_network() {
        true => check_rtt(ping(&lab, spec)?, spec)?,
        false if pinged => (None, ping(&lab, spec).ok()),
        false => (None, None),
    };
    let cpus = cpus_apart();
    let (sender_cpus, receiver_cpus) = match cpus {
        Some((sender, receiver)) => (vec![sender], vec![receiver]),
        None => (Vec::new(), Vec::new()),
    };
    let mut notes = lab.notes().to_vec();
    for host in lab.hosts().iter().filter(|host| [&spec.sender, &spec.receiver].contains(&&host.name)) {
        if let NapiState::Inline { reason: Some(reason) } = &host.napi {
            notes.push(format!("{}: threaded NAPI was asked for, it receives inline: {reason}", host.name));
        }
    }
    if cpus.is_none() {
        notes.push(ONE_CPU.to_owned());
    }
    let threaded = |name: &str| Ok::<bool, LabError>(matches!(lab.host(name)?.napi, NapiState::Threaded { .. }));
    let napi_threaded = [threaded(&spec.sender)?, threaded(&spec.receiver)?];
    // One agent is enough for what both ends share.
    let between = lab.nodes_but(&[&spec.sender, &spec.receiver]);
    let lines = lab.lines_file();
    let sender = way(&lab, programs, &spec.sender, Seen { nodes: between, lines }, sender_cpus)?;
    let receiver = way(&lab, programs, &spec.receiver, Seen::default(), receiver_cpus)?;
    let between = limits(lab, topology.ends().any(|end| end.egress.needs_emulator()));
    Ok(Place { ends: Ends { sender, receiver }, notes, rtt, idle, napi_threaded, between })
}

/// Gives the queues that delay the limit that a run asks for, and lets chance begin anew.
fn limits(lab: Arc<Lab>, is_emulating: bool) -> Between {
    Box::new(move |conditions| {
        let asked = conditions.emulator_queue_limit;
        if !is_emulating {
            let cannot = "emulator_queue_limit: nothing in this lab delays, so there is no such queue";
            return if asked.is_some() { Err(cannot.to_owned()) } else { Ok(Vec::new()) };
        }
        lab.limit_queues(asked).map_err(|error| error.to_string())?;
        let told = |limit| {
            let limit = show_limit(limit);
            InForce { name: "emulator_queue_limit".to_owned(), asked: Some(limit.clone()), actual: Some(limit) }
        };
        Ok(asked.map(told).into_iter().collect())
    })
}

/// What an agent sees of the network beside its own host.
#[derive(Default)]
struct Seen {
    nodes: Vec<(String, PathBuf)>,
    lines: Option<PathBuf>,
}

/// Echo requests before the first run, and how long after each the next one is sent.
const PINGS: [&str; 2] = ["10", "20ms"];

/// How long an answer is waited for beyond the delays of its way, in milliseconds.
const PING_WAIT_MS: u64 = 1000;

/// Pings the receiver from the sender.
///
/// One request goes before: it waits until the receiver's hardware address is known, which takes a round trip of its own,
/// and so would those that are sent meanwhile.
fn ping(lab: &Lab, spec: &LabSpec) -> Result<Pings, Failure> {
    let to = lab.host(&spec.receiver)?.address.to_string();
    let rtt_ms = spec.path().map_or(0, |path| path.rtt_us().div_ceil(1000));
    let wait = format!("{}ms", PING_WAIT_MS + 2 * rtt_ms);
    let cannot =
        |why: String| Failure::Environment(format!("cannot ping {} from {}: {why}", spec.receiver, spec.sender));
    let ask = |[count, interval]: [&str; 2]| {
        let mut command = Command::new("/proc/self/exe");
        command.args(["ping", "--json", "--count", count, "--interval", interval, "--wait", &wait, &to]);
        lab.command_in(&spec.sender, &mut command)?;
        command.output().map_err(|error| cannot(error.to_string()))
    };
    ask(["1", "1s"])?;
    let output = ask(PINGS)?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| cannot(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Compares round trips with the delays that the lab asks for.
fn check_rtt(pings: Pings, spec: &LabSpec) -> Result<(Option<RttCheck>, Option<Pings>), Failure> {
    let Some(path) = spec.path() else { return Ok((None, Some(pings))) };
    let check = RttCheck::new(path.rtt_us(), path.jitter_us(), pings.clone());
    match check.problem() {
        None => Ok((Some(check), Some(pings))),
        Some(problem) => Err(Failure::Check(format!(
            "the lab {} does not do what it was asked, and no run is started: {problem}",
            spec.topology
        ))),
    }
}

/// Checks the CPUs that a run in the lab asks for.
///
/// # Errors
/// Usage, with the CPUs that there are.
pub fn check_cpus(conditions: &Conditions) -> Result<(), Failure> {
    let allowed = sys::thread::allowed_cpus().unwrap_or_default();
    let roles = [Role::Sender, Role::Receiver];
    let all = [conditions].into_iter().chain(&conditions.beside);
    for (role, part) in all.flat_map(|part| roles.map(|role| (role, part))) {
        if let Some(cpu) = part.places.end(role).cpus.iter().find(|cpu| !allowed.contains(cpu)) {
            let list: Vec<String> = allowed.iter().map(u32::to_string).collect();
            let (list, role) = (list.join(", "), role.name());
            return Err(Failure::Usage(format!(
                "{role}_cpus: CPU {cpu} does not exist here or may not be used; allowed: {list}"
            )));
        }
    }
    Ok(())
}

fn way(lab: &Arc<Lab>, programs: &Arc<Programs>, name: &str, seen: Seen, cpus: Vec<u32>) -> Result<Way, Failure> {
    let (place, name) = (format!("netns:{name}"), name.to_owned());
    let host = lab.host(&name)?;
    let (device, addresses): (String, Vec<IpAddr>) = (host.device.clone(), host.addresses.clone());
    let (lab, programs) = (lab.clone(), programs.clone());
    let command = move |program: Option<&str>| {
        let mut command = Command::new(programs.path(program, "self")?);
        command.args(["agent", "--in-lab"]);
        for (node, namespace) in &seen.nodes {
            command.arg(format!("--between={node}={}", namespace.display()));
        }
        if let Some(lines) = &seen.lines {
            command.arg("--lines").arg(lines);
        }
        lab.command_in(&name, &mut command).map_err(|error| error.to_string())?;
        Ok(command)
    };
    Ok(Way { device, addresses, cpus, ..Way::new(place, command) })
}

/// What is said where both ends share the only CPU.
pub const ONE_CPU: &str = "only one CPU may be used: both ends share it, and the cost of each cannot be told apart";

/// One CPU for each end on this machine.
pub fn cpus_apart() -> Option<(u32, u32)> {
    apart(&sys::thread::allowed_cpus().unwrap_or_default(), siblings)
}

/// One CPU for each end: on different cores where there are two, else two threads of one core.
fn apart(allowed: &[u32], siblings: impl Fn(u32) -> Vec<u32>) -> Option<(u32, u32)> {
    let first = *allowed.first()?;
    let others = || allowed.iter().copied().filter(|cpu| *cpu != first);
    let own_core = siblings(first);
    let second = others().find(|cpu| !own_core.contains(cpu)).or_else(|| others().next())?;
    Some((first, second))
}

/// The CPUs that share a core with this one (kernel doc: admin-guide/cputopology).
fn siblings(cpu: u32) -> Vec<u32> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    probe::host::parse_cpu_list(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn ends_get_cores_of_their_own_where_they_can() {
        let pairs = |cpu: u32| vec![cpu / 2 * 2, cpu / 2 * 2 + 1];
        assert_eq!(apart(&[0, 1, 2, 3], pairs), Some((0, 2)));
        assert_eq!(apart(&[0, 1], pairs), Some((0, 1)));
        assert_eq!(apart(&[4], pairs), None);
        assert_eq!(apart(&[], pairs), None);
    }
}
