//! The lines of an execution's log: made once, in order, never rewritten.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::calibration::Calibration;
use crate::imported::ImportedRun;
use crate::machine::HostDescription;
use crate::plan::Plan;
use crate::record::{EndRecord, Role, Sample};
use crate::study::LabSpec;

/// Version of the log format; a reader refuses a higher one.
pub const FORMAT: u32 = 4;

/// From this format on each line ends with a checksum of itself and of all lines before it.
pub const FORMAT_WITH_CHECKSUMS: u32 = 4;

/// The events of an execution that are kept elsewhere and read each time that they are asked for.
pub trait Stored {
    /// As [`Events::each`].
    fn each(&self, wanted: &dyn Fn(u32) -> bool, take: &mut dyn FnMut(usize, &Event));
}

/// The events of an execution, in order, as often as they are asked for.
#[derive(Clone, Copy)]
pub enum Events<'a> {
    /// All of them are in memory.
    InMemory(&'a [Event]),
    /// One is in memory at a time.
    Stored(&'a dyn Stored),
}

impl Events<'_> {
    /// Hands over the events with their places, which rise and are the same each time. Of what holds a run's result or figures
    /// only that of wanted runs comes.
    pub fn each(&self, wanted: &dyn Fn(u32) -> bool, take: &mut dyn FnMut(usize, &Event)) {
        match self {
            Events::InMemory(events) => {
                let is_wanted = |event: &Event| match event {
                    Event::RunEnded { run, .. } | Event::RunImported { run, .. } => wanted(*run),
                    _ => true,
                };
                let all = events.iter().enumerate();
                all.filter(|(_, event)| is_wanted(event)).for_each(|(place, event)| take(place, event));
            }
            Events::Stored(stored) => stored.each(wanted, take),
        }
    }
}

impl std::fmt::Debug for Events<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Events::InMemory(events) => write!(f, "{} events", events.len()),
            Events::Stored(_) => f.write_str("stored events"),
        }
    }
}

impl<'a> From<&'a [Event]> for Events<'a> {
    fn from(events: &'a [Event]) -> Events<'a> {
        Events::InMemory(events)
    }
}

impl<'a> From<&'a Vec<Event>> for Events<'a> {
    fn from(events: &'a Vec<Event>) -> Events<'a> {
        Events::InMemory(events)
    }
}

/// Why a run has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// An end died, hung, or could not do what was asked.
    Failed,
    /// The connection to an agent was lost.
    Lost,
    /// The user stopped the execution.
    Interrupted,
}

/// One end of the path, where it was found and what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndDescription {
    /// Which end.
    pub role: Role,
    /// Where it is: `netns:h1`.
    pub place: String,
    /// What it is.
    pub host: HostDescription,
}

/// Hosts as they were named, and how they are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedHosts {
    /// The sender's.
    pub sender: NamedHost,
    /// The receiver's.
    pub receiver: NamedHost,
    /// The receiver's address for the data; absent: found by the hosts' names and interfaces.
    pub receiver_address: Option<IpAddr>,
    /// The program there; absent: this one, copied where it is not there.
    pub remote_program: Option<String>,
    /// The configuration that ssh is told to use; absent: the user's.
    pub ssh_config: Option<String>,
    /// Whether agents are started by sudo.
    pub sudo: bool,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedHost {
    /// `local`, or `ssh:` and what ssh is told.
    pub place: String,
    /// Its interface; absent: that of its route to the other.
    pub device: Option<String>,
}

/// A program that plays the ends of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramUsed {
    /// As runs ask for it ([`crate::conditions::Conditions::program`]); absent: the one that runs the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Its file.
    pub path: String,
    /// Its version, as it says itself.
    pub version: String,
    /// Size and hash of its file (SipHash 1-3 with keys of 0), as `agent --identify` prints them.
    pub identity: String,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first line.
    ExecutionBegan {
        /// [`FORMAT`].
        format: u32,
        /// Version of bitcost that wrote it.
        bitcost_version: String,
        /// Local time with offset (RFC 3339).
        at: String,
        /// The command line.
        command_line: Vec<String>,
        /// Name of the study.
        study: String,
        /// The study's text.
        study_text: String,
    },
    /// The runs, their order and its seed.
    Planned {
        /// The plan.
        plan: Plan,
    },
    /// Where the runs happen.
    Prepared {
        /// The embedded lab; absent on real hosts.
        lab: Option<Box<LabSpec>>,
        /// Both ends.
        ends: Vec<EndDescription>,
        /// True when both ends use the same CPUs.
        shared_cpus: bool,
        /// What was asked of the place and is not so, in words.
        #[serde(default)]
        notes: Vec<String>,
        /// The hosts that were named, so that the execution can go on there; absent in the embedded lab.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hosts: Option<NamedHosts>,
        /// The round trip between the ends of the lab as it was asked for and as it is; absent where nothing was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rtt: Option<crate::ping::RttCheck>,
        /// The programs that play the ends, where runs ask for other ones than that which runs the study.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        programs: Vec<ProgramUsed>,
    },
    /// What the lab's path carries, measured before the first run; in the embedded lab alone.
    Calibrated {
        /// What was measured, or why nothing was.
        calibration: Box<Calibration>,
    },
    /// The execution goes on after it was broken off.
    Resumed {
        /// Local time with offset (RFC 3339).
        at: String,
        /// The command line.
        command_line: Vec<String>,
    },
    /// A run starts.
    RunBegan {
        /// [`crate::plan::PlannedRun::index`].
        run: u32,
        /// Local time with offset (RFC 3339).
        at: String,
    },
    /// A reading while the run goes on; live views only, not kept in the log.
    Progress {
        /// The run.
        run: u32,
        /// Which end.
        role: Role,
        /// The reading.
        sample: Box<Sample>,
    },
    /// A host is out of reach, and is tried again; live views only, not kept in the log.
    Reconnecting {
        /// Which end.
        role: Role,
        /// What happened at the last attempt.
        reason: String,
    },
    /// A run has its result.
    RunEnded {
        /// The run.
        run: u32,
        /// How far the two ends' windows may lie apart, in microseconds (half of the shortest round trip of the control channels).
        start_uncertainty_us: f64,
        /// The sender's record.
        sender: Box<EndRecord>,
        /// The receiver's record.
        receiver: Box<EndRecord>,
    },
    /// A run has none.
    RunFailed {
        /// The run.
        run: u32,
        /// Whether it failed or was stopped.
        kind: FailureKind,
        /// What was asked, what happened, what to do.
        reason: String,
    },
    /// A run that another program made, as its file tells it.
    RunImported {
        /// The run.
        run: u32,
        /// What the file says.
        imported: Box<ImportedRun>,
    },
    /// The last line of an execution that was not broken off.
    ExecutionEnded {
        /// Local time with offset (RFC 3339).
        at: String,
        /// Blocks after which the study's stop rule was kept; absent where every planned run was tried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enough_blocks: Option<u32>,
    },
}
