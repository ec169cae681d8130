//! The embedded lab: it is built, it is pinged, and agents are started in its hosts.

use std::ffi::OsString;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bitcost_controller::{Endpoint, PathControl, Session};
use bitcost_lab::{Host, Inside, Lab, NapiState};
use bitcost_model::Unavailable;
use bitcost_model::conditions::Conditions;
use bitcost_model::machine::HostDescription;
use bitcost_model::protocol::Receiving;
use bitcost_model::record::InEffect;
use bitcost_model::shaping::show_limit;
use bitcost_model::study::LabSpec;
use bitcost_model::topology::Topology;
use bitcost_sys::process::{OWN_PROGRAM, effective_uid};

use crate::error::ExecuteError;
use crate::local::{ONE_CPU, check_restored, separate_cpus};
use crate::prepared::Prepared;
use crate::round_trip::{check_rtt, ping};
use crate::running::{self, RunningPath};

/// Builds the embedded lab, checks that the round-trip time between its endpoints is the requested
/// one, starts the agents and makes them describe their hosts. The lab exists as long as the session.
pub fn prepare<'a>(spec: &LabSpec, stop: &'a AtomicBool) -> Result<Prepared<'a>, ExecuteError> {
    let built = BuiltLab::new(spec, &[&spec.sender, &spec.receiver])?;
    let (lab, topology) = (&built.lab, &spec.network);
    let mut notes = lab.notes().to_vec();
    notes.extend(built.inside.as_ref().map(running::note));
    let rtt = match topology.has_network() {
        true => check_rtt(spec, &mut notes, || ping(lab, spec))?,
        false => None,
    };
    notes.extend(built.hosts.iter().filter_map(Host::inline_note));
    notes.extend(built.hosts.iter().find_map(placement_note));
    let cpus = separate_cpus();
    if cpus.is_none() {
        notes.push(ONE_CPU.to_owned());
    }
    let cpus = [cpus.map(|two| two.0), cpus.map(|two| two.1)];
    // Both see the same nodes between them, whose counters one agent reads.
    let seen = built.seen_from([&spec.sender, &spec.receiver]);
    let ways = [
        built.placed(0, cpus[0], built.endpoint(0, seen)),
        built.placed(1, cpus[1], built.endpoint(1, Vec::new())),
    ];
    let mut session = Session::open(ways, stop)?;
    let mut ends = session.describe()?;
    for (host, end) in ends.iter_mut().enumerate() {
        built.complete(host, &mut end.host);
    }
    let is_emulating = topology.ends().any(|end| end.egress.needs_emulator());
    let path: Box<dyn PathControl> = match built.inside {
        Some(inside) => Box::new(RunningPath::new(inside)),
        None => Box::new(LabPath {
            lab: built.lab,
            topology: topology.clone(),
            is_emulating,
            is_changed: false,
        }),
    };
    session.path = Some(path);
    Ok(Prepared {
        session,
        ends,
        notes,
        rtt,
        shared_cpus: true,
    })
}

/// A note where the scheduler places the receive work of an endpoint, with the reason in
/// parentheses.
fn placement_note(host: &Host) -> Option<String> {
    let NapiState::Threaded { unplaced, .. } = &host.napi else {
        return None;
    };
    let (host, reason) = (&host.name, unplaced.as_ref()?);
    let without_root = match effective_uid() {
        0 => "",
        _ => "without root ",
    };
    Some(format!(
        "{without_root}the kernel chooses the CPUs that receive; figures vary more (on both hosts, and interrupts are not moderated; {host}: {reason})"
    ))
}

/// Changes the links before each run as it requests, and restarts the random numbers of link
/// emulators. The lab reads back what it sets.
struct LabPath {
    lab: Arc<Lab>,
    topology: Topology,
    is_emulating: bool,
    is_changed: bool,
}

impl PathControl for LabPath {
    /// Without a request the links are as the lab was built.
    fn set(&mut self, conditions: &Conditions) -> Result<Vec<InEffect>, Unavailable> {
        let (change, limit) = (conditions.path_change, conditions.emulator_queue_limit);
        if self.is_emulating || change.is_some() || self.is_changed {
            let shaped = self.topology.ends().map(|end| {
                let own = &end.egress;
                let mut egress = change.map_or_else(|| own.clone(), |change| change.of(own));
                if egress.needs_emulator() {
                    egress.queue_limit = limit.or(egress.queue_limit);
                }
                (end.device.clone(), egress)
            });
            let wanted: Vec<_> = shaped.collect();
            self.is_changed = true;
            self.lab.set(&bitcost_controller::now(), &wanted)?;
            self.is_changed = change.is_some();
        }
        let shown = limit.map(show_limit);
        let in_effect = shown.map(|limit| InEffect::as_requested("emulator_queue_limit", limit));
        Ok(Vec::from_iter(in_effect))
    }
}

/// The lab of an execution: built for it, or the running one in a node of which this process is.
pub struct BuiltLab {
    pub lab: Arc<Lab>,
    inside: Option<Inside>,
    pub hosts: Vec<Host>,
    moderation_us: u32,
    has_cpus: bool,
}

impl BuiltLab {
    pub fn new(spec: &LabSpec, hosts: &[&str]) -> Result<BuiltLab, ExecuteError> {
        check_restored()?;
        let topology = &spec.network;
        let inside = running::inside(spec)?;
        let lab = match &inside {
            Some(inside) => inside.lab(),
            None => Lab::up(topology)?,
        };
        let hosts = hosts.iter().map(|host| lab.host(host).cloned());
        Ok(BuiltLab {
            hosts: hosts.collect::<Result<_, _>>()?,
            lab: Arc::new(lab),
            inside,
            moderation_us: topology.moderation_us,
            has_cpus: separate_cpus().is_some(),
        })
    }

    /// Options of an agent by which it reads the counters of the nodes between these hosts, and of
    /// the link emulators.
    fn seen_from(&self, hosts: [&str; 2]) -> Vec<OsString> {
        let nodes = self.lab.nodes_but(&hosts).into_iter();
        let between = nodes.map(|(node, file)| format!("--between={node}={}", file.display()));
        let mut options: Vec<OsString> = between.map(OsString::from).collect();
        if let Some(file) = self.lab.emulator_counters() {
            options.extend(["--emulators".into(), file.into()]);
        }
        options
    }

    /// How the agent of a host is started, with more options.
    pub fn endpoint(&self, host: usize, options: Vec<OsString>) -> Endpoint {
        let (lab, name) = (self.lab.clone(), self.hosts[host].name.clone());
        Endpoint::new(format!("netns:{name}"), move || {
            let mut command = Command::new(OWN_PROGRAM);
            command.args(["agent", "--in-lab"]).args(&options);
            lab.command_in(&name, &mut command)?;
            Ok(command)
        })
    }

    /// An endpoint at a host, with its interface, and with this CPU for its traffic.
    pub fn placed(&self, host: usize, cpu: Option<u32>, endpoint: Endpoint) -> Endpoint {
        let host = &self.hosts[host];
        let receiving = match &host.napi {
            NapiState::Inline { .. } => None,
            NapiState::Threaded { unplaced, .. } => Some(Receiving {
                has_own_cpus: unplaced.is_none() && cpu.is_some(),
                moderation_us: unplaced.is_none().then_some(self.moderation_us),
            }),
        };
        Endpoint {
            device: host.device.clone(),
            addresses: host.addresses.clone(),
            cpus: cpu.into_iter().collect(),
            receiving,
            ..endpoint
        }
    }

    /// Adds to the description of a host what the lab set and read back: kernels before 6.8 do not
    /// report whether an interface receives in kernel threads.
    pub fn complete(&self, host: usize, described: &mut HostDescription) {
        let napi = &self.hosts[host].napi;
        let is_threaded = matches!(napi, NapiState::Threaded { .. });
        described.device.napi_threaded.get_or_insert(is_threaded);
        let receives = match napi {
            NapiState::Threaded { unplaced: None, .. } if self.has_cpus => {
                "kernel threads on the host's own CPUs"
            }
            NapiState::Threaded { .. } => "kernel threads, which the scheduler places",
            NapiState::Inline { .. } => "the call of the sender",
        };
        described.device.receives = Some(receives.to_owned());
        if let Some(inside) = &self.inside {
            described.host_name.clone_from(&inside.state.machine);
        }
    }
}
