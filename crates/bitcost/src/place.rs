//! The place of an execution: the embedded lab, its two hosts, and the CPUs of each end.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use drive::{DriveError, Ends, Session, Way};
use lab::{Lab, LabError, NapiState, Topology};
use metrics::RunView;
use model::conditions::Conditions;
use model::event::EndDescription;
use model::record::{EndRecord, Role};
use model::study::{self, LabSpec, Napi};

use crate::failure::Failure;
use crate::verbs::host;

/// A lab that stands and the ways to its hosts.
pub struct Place {
    /// To both ends; the lab stands as long as these.
    pub ends: Ends,
    /// What was asked of the lab and is not so.
    pub notes: Vec<String>,
    /// Whether the interface of each end, the sender's first, receives in kernel threads, as the lab set it.
    pub napi_threaded: [bool; 2],
}

/// Agents at both ends, and what is known of the place.
pub struct Prepared<'a> {
    /// Both agents.
    pub session: Session<'a>,
    /// What both ends are.
    pub ends: Vec<EndDescription>,
    /// As [`Place::notes`].
    pub notes: Vec<String>,
    /// Whether both ends run on the CPUs of one machine.
    pub shared_cpus: bool,
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
        RunView { sender, receiver, conditions, shared_cpus, napi_threaded }
    }
}

impl Prepared<'_> {
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
        let mut ends = session.describe()?;
        for (end, threaded) in ends.iter_mut().zip(self.napi_threaded) {
            end.host.device.napi_threaded.get_or_insert(threaded);
        }
        Ok(Prepared { session, ends, notes: self.notes, shared_cpus: true })
    }
}

/// Builds the embedded lab.
///
/// # Errors
/// Environment, when the kernel does not allow it; the message says what to do.
pub fn embedded(spec: &LabSpec) -> Result<Place, Failure> {
    let napi = match spec.napi {
        Napi::Threaded => lab::Napi::Threaded,
        Napi::Inline => lab::Napi::Inline,
    };
    host::check_is_as_found()?;
    let program = PathBuf::from("/proc/self/exe");
    let topology = match spec.topology {
        study::Topology::Wire => Topology::wire(spec.mtu_bytes, napi),
        study::Topology::Pair => Topology::pair(spec.mtu_bytes, napi),
    };
    let lab = Arc::new(Lab::up(&program, &topology)?);
    let cpus = cpus_apart();
    let (sender_cpus, receiver_cpus) = match cpus {
        Some((sender, receiver)) => (vec![sender], vec![receiver]),
        None => (Vec::new(), Vec::new()),
    };
    let mut notes = lab.notes().to_vec();
    for host in lab.hosts() {
        if let NapiState::Inline { reason: Some(reason) } = &host.napi {
            notes.push(format!("{}: threaded NAPI was asked for, it receives inline: {reason}", host.name));
        }
    }
    if cpus.is_none() {
        notes.push(ONE_CPU.to_owned());
    }
    let threaded = |name: &str| Ok::<bool, LabError>(matches!(lab.host(name)?.napi, NapiState::Threaded { .. }));
    let napi_threaded = [threaded("h1")?, threaded("h2")?];
    let sender = way(&lab, "h1", sender_cpus)?;
    let receiver = way(&lab, "h2", receiver_cpus)?;
    Ok(Place { ends: Ends { sender, receiver }, notes, napi_threaded })
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

fn way(lab: &Arc<Lab>, name: &'static str, cpus: Vec<u32>) -> Result<Way, Failure> {
    let host = lab.host(name)?;
    let (device, addresses): (String, Vec<IpAddr>) = (host.device.clone(), host.addresses.clone());
    // One agent is enough for what both ends share.
    let between = if name == "h1" { lab.nodes_but(&["h1", "h2"]) } else { Vec::new() };
    let lab = lab.clone();
    let command = move || {
        let mut command = Command::new("/proc/self/exe");
        command.args(["agent", "--in-lab"]);
        for (node, namespace) in &between {
            command.arg(format!("--between={node}={}", namespace.display()));
        }
        lab.command_in(name, &mut command).map_err(|error| error.to_string())?;
        Ok(command)
    };
    Ok(Way {
        place: format!("netns:{name}"),
        command: Box::new(command),
        device,
        addresses,
        cpus,
        explain: None,
        opening: None,
        patience: Duration::ZERO,
    })
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
