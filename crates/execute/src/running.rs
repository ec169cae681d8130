//! Executions in a running lab, by a program in one of its nodes.

use std::collections::BTreeSet;
use std::net::IpAddr;

use bitcost_controller::PathControl;
use bitcost_lab::Inside;
use bitcost_lab::state::State;
use bitcost_model::Unavailable;
use bitcost_model::conditions::Conditions;
use bitcost_model::near::did_you_mean;
use bitcost_model::record::InEffect;
use bitcost_model::shaping::{Shaping, show_shaping};
use bitcost_model::study::LabSpec;
use bitcost_model::topology::{NodeKind, Topology};

use crate::error::ExecuteError;

/// The running lab as the lab of an execution, as it now is, with these two hosts as endpoints: a
/// host is named by its name or by an address.
pub fn spec(
    inside: &Inside,
    sender: Option<&str>,
    receiver: Option<&str>,
) -> Result<LabSpec, ExecuteError> {
    let topology = &inside.state.topology;
    let host = |named: Option<&str>| named.map(|name| host_named(topology, name)).transpose();
    let (sender, receiver) = (host(sender)?, host(receiver)?);
    let node = &inside.node;
    let own = || match topology.node(node).map(|node| node.kind) {
        None | Some(NodeKind::Host) => Ok(Some(node.clone())),
        Some(kind) => Err(ExecuteError::Usage(format!(
            "{node} is a {}; run bitcost in a host, or name both hosts: --sender and --receiver",
            kind.name()
        ))),
    };
    let (sender, receiver) = match (sender, receiver) {
        (None, Some(receiver)) if receiver == *node => {
            let why = format!(
                "{node} is this node, which sends; name another host, or the one that sends: --sender"
            );
            return Err(ExecuteError::Usage(why));
        }
        (None, receiver) => (own()?, receiver),
        (Some(sender), None) if sender != *node => (Some(sender), own()?),
        both => both,
    };
    let mut spec = LabSpec::new(&inside.lab, topology.clone(), sender, receiver)?;
    spec.running = Some(inside.lab.clone());
    Ok(spec)
}

fn host_named(topology: &Topology, asked: &str) -> Result<String, ExecuteError> {
    let address: Option<IpAddr> = asked.parse().ok();
    let has = |ip: IpAddr| {
        let mut ends = topology.ends();
        ends.find(|end| end.addresses.iter().any(|own| own.ip == ip))
            .map(|end| end.node.as_str())
    };
    let name = address.and_then(has).unwrap_or(asked);
    let hosts: Vec<&str> = topology.hosts().map(|host| host.name.as_str()).collect();
    if hosts.contains(&name) {
        return Ok(name.to_owned());
    }
    let hint = did_you_mean(name, hosts.iter().copied());
    Err(ExecuteError::Usage(format!(
        "`{asked}` is not a host of the running lab{hint}; there are: {}. Hosts outside of the lab cannot be reached from its nodes",
        hosts.join(", ")
    )))
}

/// The node of the running lab that this execution needs.
pub fn inside(spec: &LabSpec) -> Result<Option<Inside>, ExecuteError> {
    let Some(name) = &spec.running else {
        return Ok(None);
    };
    match Inside::find()? {
        Some(inside) if inside.lab == *name => Ok(Some(inside)),
        _ => Err(ExecuteError::Usage(format!(
            "this execution belongs to the running lab {name}; resume it in a node of that lab: bitcost lab exec --lab {name} {} -- bitcost …",
            spec.sender
        ))),
    }
}

/// A sentence about the lab: what is set in it, and how often it was changed.
pub fn note(inside: &Inside) -> String {
    let State {
        topology, changes, ..
    } = &inside.state;
    let shaped: Vec<String> = topology
        .ends()
        .filter(|end| !end.egress.is_nothing())
        .map(|end| format!("{} {}", end.device, show_shaping(&end.egress)))
        .collect();
    let set = match shaped.is_empty() {
        true => "nothing is set on its links".to_owned(),
        false => shaped.join("; "),
    };
    let changed = match changes.as_slice() {
        [] => String::new(),
        [.., last] => format!(
            "; changed since it was built, last {} at {}",
            last.device, last.at
        ),
    };
    format!("in the running lab {}: {set}{changed}", inside.lab)
}

/// The network of a running lab, which other processes may change at any time.
pub struct RunningPath {
    inside: Inside,
    /// How many changes the lab had when the run was set.
    seen: usize,
}

impl RunningPath {
    pub fn new(inside: Inside) -> RunningPath {
        RunningPath {
            seen: inside.state.changes.len(),
            inside,
        }
    }

    fn now(&self) -> Result<State, Unavailable> {
        Ok(State::read(&self.inside.state_file)?)
    }
}

impl PathControl for RunningPath {
    fn set(&mut self, conditions: &Conditions) -> Result<Vec<InEffect>, Unavailable> {
        let lab = &self.inside.lab;
        if conditions.emulator_queue_limit.is_some() {
            return Err(Unavailable(format!(
                "emulator_queue_limit is for labs that bitcost builds for a run; set the queue of the running lab: bitcost lab set {lab} DEVICE queue_limit=…"
            )));
        }
        if conditions.path_change.is_some() {
            return Err(Unavailable(format!(
                "path_change is for labs that bitcost builds for a run; change the running lab: bitcost lab set {lab} DEVICE …"
            )));
        }
        let now = self.now()?;
        self.seen = now.changes.len();
        Ok(differences(&self.inside.state.topology, &now.topology))
    }

    /// The first change of each device since the run was set, even if it was undone.
    fn changed(&mut self) -> Vec<InEffect> {
        let changes = self.now().map(|now| now.changes).unwrap_or_default();
        let mut devices = BTreeSet::new();
        let since = changes.iter().skip(self.seen);
        since
            .filter(|change| devices.insert(&change.device))
            .map(|change| difference(&change.device, &change.from, &change.to))
            .collect()
    }
}

/// What is set otherwise now than before, by device.
fn differences(before: &Topology, now: &Topology) -> Vec<InEffect> {
    let pairs = before.ends().zip(now.ends());
    let different = pairs.filter(|(before, now)| before.egress != now.egress);
    different
        .map(|(before, now)| difference(&now.device, &before.egress, &now.egress))
        .collect()
}

fn difference(device: &str, before: &Shaping, now: &Shaping) -> InEffect {
    InEffect::new(device, Some(show_shaping(before)), Some(show_shaping(now)))
}
