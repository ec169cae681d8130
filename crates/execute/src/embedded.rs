//! The embedded lab: it is built, it is pinged, and agents are started in its two endpoints.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bitcost_controller::{Endpoint, Endpoints, PathControl, Session, agent_in_lab};
use bitcost_lab::{Host, Lab, NapiState};
use bitcost_model::Unavailable;
use bitcost_model::conditions::Conditions;
use bitcost_model::machine::HostDescription;
use bitcost_model::path_change::PathChange;
use bitcost_model::protocol::Receiving;
use bitcost_model::record::InEffect;
use bitcost_model::shaping::{QueueLimit, show_limit};
use bitcost_model::study::LabSpec;
use bitcost_model::topology::Topology;
use bitcost_sys::process::effective_uid;

use crate::error::ExecuteError;
use crate::local::{ONE_CPU, check_restored, separate_cpus};
use crate::prepared::Prepared;
use crate::programs::Programs;
use crate::round_trip::{check_rtt, ping};
use crate::running::{self, RunningPath};

/// Builds the embedded lab, checks that the round-trip time between its endpoints is the requested
/// one, starts the agents and makes them describe their hosts. If the lab requests no time, the
/// endpoints are pinged only if `pinged`. The lab exists as long as the session.
///
/// # Errors
/// Environment, when the kernel does not allow it; the message says what to do. Check, when the
/// delay is not as requested.
pub fn prepare<'a>(
    spec: &LabSpec,
    programs: &Arc<Programs>,
    pinged: bool,
    stop: &'a AtomicBool,
) -> Result<Prepared<'a>, ExecuteError> {
    check_restored()?;
    let Some(topology) = &spec.network else {
        return Err(ExecuteError::Usage(format!(
            "the log has no topology of the lab {}; start a new execution",
            spec.topology
        )));
    };
    let inside = running::inside(spec)?;
    let lab = Arc::new(match &inside {
        Some(inside) => inside.lab(),
        None => Lab::up(&PathBuf::from("/proc/self/exe"), topology)?,
    });
    let mut notes = lab.notes().to_vec();
    notes.extend(inside.as_ref().map(running::note));
    let (rtt, idle) = match topology.has_network() {
        true => check_rtt(spec, &mut notes, || ping(&lab, spec))?,
        false if pinged => (None, ping(&lab, spec).ok()),
        false => (None, None),
    };
    let cpus = separate_cpus();
    notes.extend(inline_notes(&lab, spec));
    notes.extend(placement_note(&lab, spec));
    if cpus.is_none() {
        notes.push(ONE_CPU.to_owned());
    }
    let ways = endpoints(&lab, programs, spec, cpus, topology.moderation_us)?;
    let mut session = Session::open(ways, stop)?;
    let mut ends = session.describe()?;
    for (end, host) in ends.iter_mut().zip([&spec.sender, &spec.receiver]) {
        complete(&mut end.host, lab.host(host)?, cpus.is_some());
        if let Some(inside) = &inside {
            end.host.host_name.clone_from(&inside.state.machine);
        }
    }
    let is_emulating = topology.ends().any(|end| end.egress.needs_emulator());
    let path: Box<dyn PathControl> = match inside {
        Some(inside) => Box::new(RunningPath::new(inside)),
        None => Box::new(LabPath {
            lab,
            topology: topology.clone(),
            is_emulating,
            is_changed: false,
        }),
    };
    session.set_path_control(path);
    Ok(Prepared {
        session,
        ends,
        notes,
        rtt,
        idle,
        shared_cpus: true,
        programs: Vec::new(),
    })
}

/// How the agents of both endpoints are started. Both see the same nodes between them, whose
/// counters one agent reads.
fn endpoints(
    lab: &Arc<Lab>,
    programs: &Arc<Programs>,
    spec: &LabSpec,
    cpus: Option<(u32, u32)>,
    moderation_us: u32,
) -> Result<Endpoints, ExecuteError> {
    let seen = Seen {
        nodes: lab.nodes_but(&[&spec.sender, &spec.receiver]),
        emulators: lab.emulator_counters(),
    };
    let [sender_cpu, receiver_cpu] = [cpus.map(|two| two.0), cpus.map(|two| two.1)];
    let way = |host: &str, seen, cpu| way(lab, programs, host, seen, cpu, moderation_us);
    Ok(Endpoints {
        sender: way(&spec.sender, seen, sender_cpu)?,
        receiver: way(&spec.receiver, Seen::default(), receiver_cpu)?,
    })
}

/// A note for each endpoint that receives inline although threaded NAPI was requested.
fn inline_notes(lab: &Lab, spec: &LabSpec) -> Vec<String> {
    let endpoints = [&spec.sender, &spec.receiver];
    let mut notes = Vec::new();
    for host in lab.hosts() {
        if let NapiState::Inline {
            reason: Some(reason),
        } = &host.napi
            && endpoints.contains(&&host.name)
        {
            notes.push(format!(
                "{}: threaded NAPI was requested, but it receives inline: {reason}",
                host.name
            ));
        }
    }
    notes
}

/// Adds to the description of a host what the lab set and read back: kernels before 6.8 do not
/// report whether an interface receives in kernel threads.
fn complete(described: &mut HostDescription, host: &Host, has_cpu: bool) {
    let is_threaded = matches!(host.napi, NapiState::Threaded { .. });
    described.device.napi_threaded.get_or_insert(is_threaded);
    described.device.receives = Some(receives(host, has_cpu));
}

pub const NO_EMULATOR: &str =
    "emulator_queue_limit has no effect: nothing in this lab delays packets";

/// Sets the queue limit that a run requests for the link emulators before that run, and restarts
/// their random numbers; and changes the links as a run requests.
struct LabPath {
    lab: Arc<Lab>,
    topology: Topology,
    is_emulating: bool,
    is_changed: bool,
}

impl PathControl for LabPath {
    fn set(&mut self, conditions: &Conditions) -> Result<Vec<InEffect>, Unavailable> {
        self.change(conditions.path_change)?;
        let Some(limit) = conditions.emulator_queue_limit else {
            if self.is_emulating {
                self.limit(None)?;
            }
            return Ok(Vec::new());
        };
        if !self.is_emulating {
            return Err(Unavailable(NO_EMULATOR.to_owned()));
        }
        self.limit(Some(limit))?;
        let limit = show_limit(limit);
        Ok(vec![InEffect {
            name: "emulator_queue_limit".to_owned(),
            requested: Some(limit.clone()),
            actual: Some(limit),
        }])
    }
}

impl LabPath {
    /// Without a change the links are as the lab was built. The lab reads back what it sets.
    fn change(&mut self, change: Option<PathChange>) -> Result<(), Unavailable> {
        if change.is_none() && !self.is_changed {
            return Ok(());
        }
        let shaped = self.topology.ends().map(|end| {
            let egress = change.map_or_else(|| end.egress.clone(), |change| change.of(&end.egress));
            (end.device.clone(), egress)
        });
        let wanted: Vec<_> = shaped.collect();
        self.is_changed = true;
        self.lab.set(&bitcost_controller::now(), &wanted)?;
        self.is_changed = change.is_some();
        Ok(())
    }

    /// Without a limit the queues have the limit of the lab.
    fn limit(&self, limit: Option<QueueLimit>) -> Result<(), Unavailable> {
        Ok(self.lab.limit_queues(limit)?)
    }
}

/// The counters of the network that an agent reads in addition to those of its host.
#[derive(Default)]
struct Seen {
    nodes: Vec<(String, PathBuf)>,
    emulators: Option<PathBuf>,
}

/// How the interface of a host of the lab receives; absent where it does so in the sender's call.
fn receiving(host: &Host, has_cpu: bool, moderation_us: u32) -> Option<Receiving> {
    let NapiState::Threaded { unplaced, .. } = &host.napi else {
        return None;
    };
    let is_placeable = unplaced.is_none();
    Some(Receiving {
        has_own_cpus: is_placeable && has_cpu,
        moderation_us: is_placeable.then_some(moderation_us),
    })
}

/// Where a host of the lab has its receive work done, in words.
fn receives(host: &Host, has_cpu: bool) -> String {
    let place = match &host.napi {
        NapiState::Threaded { unplaced: None, .. } if has_cpu => {
            "kernel threads on the host's own CPUs"
        }
        NapiState::Threaded { .. } => "kernel threads, which the scheduler places",
        NapiState::Inline { .. } => "the call of the sender",
    };
    place.to_owned()
}

/// A note where the scheduler places the receive work of the endpoints, with the reason in
/// parentheses.
fn placement_note(lab: &Lab, spec: &LabSpec) -> Option<String> {
    let endpoints = [&spec.sender, &spec.receiver];
    let mut hosts = lab
        .hosts()
        .iter()
        .filter(|host| endpoints.contains(&&host.name));
    hosts.find_map(|host| match &host.napi {
        NapiState::Threaded {
            unplaced: Some(reason),
            ..
        } => {
            let without_root = match effective_uid() {
                0 => "",
                _ => "without root ",
            };
            Some(format!(
                "{without_root}the kernel chooses the CPUs that receive; figures vary more (on both hosts, and interrupts are not moderated; {}: {reason})",
                host.name
            ))
        }
        _ => None,
    })
}

pub struct MeshLab {
    lab: Arc<Lab>,
    programs: Arc<Programs>,
    hosts: Vec<String>,
    moderation_us: u32,
    has_cpus: bool,
}

impl MeshLab {
    /// Builds the lab.
    pub fn build(
        spec: &LabSpec,
        hosts: &[String],
        programs: Arc<Programs>,
    ) -> Result<MeshLab, ExecuteError> {
        check_restored()?;
        let network = spec.network.as_ref();
        let topology = network.ok_or_else(|| {
            ExecuteError::Usage("the log has no topology; start a new execution".to_owned())
        })?;
        let lab = match running::inside(spec)? {
            Some(inside) => inside.lab(),
            None => Lab::up(&PathBuf::from("/proc/self/exe"), topology)?,
        };
        for host in hosts {
            lab.host(host)?;
        }
        Ok(MeshLab {
            lab: Arc::new(lab),
            programs,
            hosts: hosts.to_vec(),
            moderation_us: topology.moderation_us,
            has_cpus: separate_cpus().is_some(),
        })
    }

    pub fn notes(&self) -> Vec<String> {
        self.lab.notes().to_vec()
    }

    fn host(&self, host: usize) -> Option<&Host> {
        self.lab.host(&self.hosts[host]).ok()
    }

    /// How the agent of a host is started.
    pub fn endpoint(&self, host: usize) -> Result<Endpoint, ExecuteError> {
        let (name, seen) = (&self.hosts[host], Seen::default());
        way(
            &self.lab,
            &self.programs,
            name,
            seen,
            None,
            self.moderation_us,
        )
    }

    pub fn device(&self, host: usize) -> Option<String> {
        Some(self.host(host)?.device.clone())
    }

    pub fn address(&self, host: usize) -> Option<IpAddr> {
        Some(self.host(host)?.address)
    }

    pub fn complete(&self, host: usize, described: &mut HostDescription) {
        if let Some(host) = self.host(host) {
            complete(described, host, self.has_cpus);
        }
    }

    pub fn pooled(&self, host: usize, cpu: Option<u32>, endpoint: Endpoint) -> Endpoint {
        let Some(host) = self.host(host) else {
            return endpoint;
        };
        Endpoint {
            device: host.device.clone(),
            addresses: host.addresses.clone(),
            cpus: cpu.into_iter().collect(),
            receiving: receiving(host, cpu.is_some(), self.moderation_us),
            ..endpoint
        }
    }
}

fn way(
    lab: &Arc<Lab>,
    programs: &Arc<Programs>,
    name: &str,
    seen: Seen,
    cpu: Option<u32>,
    moderation_us: u32,
) -> Result<Endpoint, ExecuteError> {
    let host = lab.host(name)?;
    let receiving = receiving(host, cpu.is_some(), moderation_us);
    let (device, addresses): (String, Vec<IpAddr>) = (host.device.clone(), host.addresses.clone());
    let (lab, programs, name) = (lab.clone(), programs.clone(), name.to_owned());
    let place = format!("netns:{name}");
    let command = move |program: Option<&str>| {
        let mut command = Command::new(programs.path(program, "self")?);
        command.args(agent_in_lab(&seen.nodes, seen.emulators.as_deref()));
        lab.command_in(&name, &mut command)?;
        Ok(command)
    };
    Ok(Endpoint {
        device,
        addresses,
        cpus: cpu.into_iter().collect(),
        receiving,
        ..Endpoint::new(place, command)
    })
}
