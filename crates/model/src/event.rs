//! The lines of an execution's log: each is written once, in order, and never changed.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::constants::MachineConstants;
use crate::imported::ImportedRun;
use crate::machine::HostDescription;
use crate::plan::Plan;
use crate::record::{EndpointRecord, Role, Sample};
use crate::search::{Decision, Trial};
use crate::study::LabSpec;

/// Version of the log format; a reader refuses every other one.
pub const FORMAT: u32 = 1;

pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Event).to_value()
}

/// The events of an execution, in order. They can be read any number of times.
pub trait Events: std::fmt::Debug {
    /// Calls `take` for each event with its place. Places rise and are the same each time. Events
    /// with a run's result or figures are passed only for wanted runs.
    fn each(&self, wanted: &dyn Fn(u32) -> bool, take: &mut dyn FnMut(usize, &Event));
}

impl Events for Vec<Event> {
    fn each(&self, wanted: &dyn Fn(u32) -> bool, take: &mut dyn FnMut(usize, &Event)) {
        let is_wanted = |event: &Event| match event {
            Event::RunEnded { run, .. }
            | Event::RunProfiled { run, .. }
            | Event::RunImported { run, .. } => wanted(*run),
            _ => true,
        };
        let all = self.iter().enumerate();
        all.filter(|(_, event)| is_wanted(event))
            .for_each(|(place, event)| take(place, event));
    }
}

/// The reason why a run has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// An endpoint died, hung, or could not do what was asked.
    Failed,
    /// A host lacks something that the run asks for: a module of the kernel, a right.
    HostLacks,
    /// The connection to an agent was lost.
    Lost,
    /// The user stopped the execution.
    Interrupted,
}

/// One endpoint of the path: its place and its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndpointDescription {
    pub role: Role,
    /// The place: `netns:h1`.
    pub place: String,
    pub host: HostDescription,
}

/// Hosts as the user named them, and how they are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedHosts {
    pub sender: NamedHost,
    pub receiver: NamedHost,
    /// The receiver's address for the data; absent: found by the hosts' names and interfaces.
    pub receiver_address: Option<IpAddr>,
    /// The program there; absent: this one, which is copied where it is missing.
    pub remote_program: Option<String>,
    /// The configuration file that is given to ssh; absent: the user's.
    pub ssh_config: Option<String>,
    /// Whether agents are started with sudo.
    pub sudo: bool,
    /// How containers are started, for hosts of a Kubernetes cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Box<Kubernetes>>,
}

/// How the containers of agents are started in a Kubernetes cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kubernetes {
    /// The context of kubectl; absent: that of the pod in which bitcost runs.
    pub context: Option<String>,
    /// The namespace; absent: that of the context.
    pub namespace: Option<String>,
    pub image: String,
    /// When the image is pulled: `Always`, `IfNotPresent` or `Never`.
    pub pull_policy: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedHost {
    /// `local`, or `ssh:` and the destination that is given to ssh.
    pub place: String,
    /// Its interface; absent: that of its route to the other host.
    pub device: Option<String>,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first line of the log.
    ExecutionBegan {
        /// The version of the format ([`FORMAT`]).
        format: u32,
        bitcost_version: String,
        /// Local time with offset (RFC 3339).
        at: String,
        command_line: Vec<String>,
        study: String,
        study_text: String,
        /// The text of the lab file that the study names, so that the log needs no other file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lab_text: Option<String>,
    },
    /// The runs, their order and the seed of the order.
    Planned { plan: Plan },
    /// The place of the runs is ready.
    Prepared {
        /// The embedded lab; absent on real hosts.
        lab: Option<Box<LabSpec>>,
        endpoints: Vec<EndpointDescription>,
        /// True when both endpoints use the same CPUs.
        shared_cpus: bool,
        /// Requests to the place that are not in effect, in words.
        #[serde(default)]
        notes: Vec<String>,
        /// The hosts that were named, so that the execution can be resumed there; absent in the
        /// embedded lab.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hosts: Option<NamedHosts>,
        /// The round trip between the endpoints in the lab, as requested and as measured; absent
        /// where nothing was requested.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rtt: Option<crate::ping::RttCheck>,
    },
    /// The constants of each machine, measured before the first run.
    Constants { machines: Vec<MachineConstants> },
    /// A trial: a short run with a change, or without, that is no run of the plan.
    Tried { trial: Box<Trial> },
    /// What trials decided. The last decision of a kind counts, of options the last of a cell.
    Decided { decision: Box<Decision> },
    /// The execution continues after it was interrupted.
    Resumed {
        /// Local time with offset (RFC 3339).
        at: String,
        command_line: Vec<String>,
    },
    RunBegan {
        /// The run, by its place in the plan ([`crate::plan::PlannedRun::index`]).
        run: u32,
        /// Local time with offset (RFC 3339).
        at: String,
    },
    /// A reading during the run; for live views only, not kept in the log.
    Progress {
        run: u32,
        /// Which endpoint.
        role: Role,
        /// The reading.
        sample: Box<Sample>,
    },
    /// A host cannot be reached and is tried again; for live views only, not kept in the log.
    Reconnecting {
        /// Which endpoint.
        role: Role,
        /// The error of the last attempt.
        reason: String,
    },
    RunEnded {
        run: u32,
        /// The most by which the two endpoints' windows may differ, in microseconds (half of the
        /// shortest round trip of the control channels).
        start_uncertainty_us: f64,
        /// Why it ended before its time; absent where it did not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interrupted: Option<String>,
        sender: Box<EndpointRecord>,
        receiver: Box<EndpointRecord>,
    },
    /// A run was made once more while its CPUs were sampled. Its figures are not those of the run:
    /// sampling takes CPU time, too.
    RunProfiled {
        run: u32,
        /// As in [`Event::RunEnded`].
        start_uncertainty_us: f64,
        /// The sender's record, with the profile that its agent took.
        sender: Box<EndpointRecord>,
        /// The receiver's record, with the profile that its agent took.
        receiver: Box<EndpointRecord>,
    },
    /// A run was to be made once more while its CPUs were sampled, and that failed.
    RunNotProfiled {
        run: u32,
        /// The request, the failure, and the remedy.
        reason: String,
    },
    /// A run has no result.
    RunFailed {
        run: u32,
        /// Whether it failed, lost its connection or was interrupted.
        kind: FailureKind,
        /// The request, the failure, and the remedy.
        reason: String,
    },
    /// A run that another program made, as its file reports it.
    RunImported {
        run: u32,
        /// The content of the file.
        imported: Box<ImportedRun>,
    },
    /// The last line of an execution that was not interrupted.
    ExecutionEnded {
        /// Local time with offset (RFC 3339).
        at: String,
        /// Blocks after which the study's stop rule was met; absent where every planned run was
        /// tried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enough_blocks: Option<u32>,
    },
}
