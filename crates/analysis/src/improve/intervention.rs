//! An intervention: changes that may relax a bottleneck, and how each is kept.

use bitcost_model::host_settings::SettingRequest;
use bitcost_model::machine::HostDescription;
use bitcost_model::record::Role;

use crate::findings::Findings;
use crate::ladder::NotTried;
use crate::prove::{Ordinary, Settings};

/// A change that can be tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its name, which is its level in the log's study.
    pub label: String,
    /// The settings that make it.
    pub settings: Settings,
    /// How it is kept: the command, or what the program calls.
    pub keep: String,
    /// Whether a command as root keeps it, and a host must allow it to root alone.
    pub needs_root: bool,
    /// The limiters that it may relax, by name.
    pub relaxes: &'static [&'static str],
    /// Whether it turns on what a host has off, and is therefore decided before anything unusual.
    pub restores: bool,
}

impl Candidate {
    fn new(
        label: impl Into<String>,
        settings: &[(&'static str, &str)],
        keep: impl Into<String>,
        needs_root: bool,
    ) -> Candidate {
        let settings = settings.iter();
        Candidate {
            label: label.into(),
            settings: settings
                .map(|(name, value)| (*name, (*value).to_owned()))
                .collect(),
            keep: keep.into(),
            needs_root,
            relaxes: &[],
            restores: false,
        }
    }

    /// It as something that was not tried.
    pub(super) fn untried(&self, reason: impl Into<String>) -> NotTried {
        NotTried {
            what: self.label.clone(),
            reason: reason.into(),
            command: self.needs_root.then(|| self.keep.clone()),
        }
    }
}

/// A change that the program itself can make.
pub(super) fn program(
    label: impl Into<String>,
    settings: &[(&'static str, &str)],
    keep: impl Into<String>,
) -> Offer {
    Ok(Candidate::new(label, settings, keep, false))
}

/// A change of a host, by a command as root.
pub(super) fn host(
    label: impl Into<String>,
    settings: &[(&'static str, &str)],
    command: impl Into<String>,
) -> Candidate {
    Candidate::new(label, settings, command, true)
}

/// A change, or why it cannot be tried.
pub(super) type Offer = Result<Candidate, NotTried>;

/// Limiters that less CPU time for a KiB relaxes.
pub(super) const CPU: &[&str] = &[
    "sender_cpu",
    "receiver_cpu",
    "packets_per_second",
    "wake_ups",
    "cpu_quota",
    "slow_reader",
];

/// One intervention: a row of [`INTERVENTIONS`](super::INTERVENTIONS).
#[derive(Debug)]
pub struct Intervention {
    /// Its name.
    pub name: &'static str,
    /// The limiters that it may relax, by name.
    pub of: &'static [&'static str],
    /// The changes to try, the smallest first. What a run has already is left out.
    pub(super) offers: fn(&Trial) -> Vec<Offer>,
}

pub(super) const fn row(
    name: &'static str,
    of: &'static [&'static str],
    offers: fn(&Trial) -> Vec<Offer>,
) -> Intervention {
    Intervention { name, of, offers }
}

/// A step for which changes are sought.
#[derive(Debug)]
pub struct Trial<'a> {
    /// Its test.
    pub test: Ordinary,
    /// The hosts called sender and receiver.
    hosts: [&'a HostDescription; 2],
    /// Whether the interface that carries the data may also carry the connection to the other host.
    pub is_remote: bool,
}

impl<'a> Trial<'a> {
    /// The step of this test; absent where no run of it has a result that can be explained.
    pub fn of(findings: &'a Findings) -> Option<Trial<'a>> {
        let summary = &findings.summary;
        let host = |role: Role| {
            let mut ends = summary.ends.iter();
            Some(&ends.find(|end| end.role == role)?.host)
        };
        Some(Trial {
            test: Ordinary::of(findings)?,
            hosts: [host(Role::Sender)?, host(Role::Receiver)?],
            is_remote: summary.lab.is_none(),
        })
    }

    /// What the host of the endpoint with this role is called.
    pub fn host_role(&self, end: Role) -> Role {
        self.test.conditions.direction.role_of(end)
    }

    /// The host of the endpoint with this role.
    pub fn host(&self, end: Role) -> &'a HostDescription {
        self.hosts[self.host_role(end) as usize]
    }

    /// Whether root acts at both hosts.
    pub fn is_root(&self) -> bool {
        self.hosts.iter().all(|host| host.is_root)
    }

    /// What a sysctl of an endpoint's host has: what the run requests, else what was found.
    pub fn sysctl(&self, end: Role, name: &str) -> Option<&str> {
        let host = self.host_role(end);
        let is_of = |request: &&SettingRequest| {
            request.subject.as_deref() == Some(name)
                && request.endpoint.is_none_or(|asked| asked == host)
        };
        let mut requests = self.test.conditions.host_settings.iter().rev();
        let requested = requests
            .find(is_of)
            .and_then(|request| request.values.values().next());
        let found = || self.host(end).sysctls.get(name);
        requested.or_else(found).map(String::as_str)
    }

    /// Bytes that fill the path: of a lab whose links have rates, else those of what was delivered.
    pub fn bdp_bytes(&self) -> Option<f64> {
        let lab = self.test.lab.as_ref();
        let lab = lab.and_then(|lab| Some(lab.path()?.bdp_bytes()? as f64));
        let known = lab.into_iter().chain(self.test.load.in_flight_bytes());
        known.reduce(f64::max)
    }

    /// `command (at the receiver)`.
    pub fn at(&self, end: Role, command: &str) -> String {
        format!("{command} (at the {})", self.host_role(end).name())
    }

    /// A command for the interface `DEV` of both hosts.
    pub fn at_both(&self, command: &str) -> String {
        let [sender, receiver] = self.hosts.map(|host| &host.device.name);
        match sender == receiver {
            true => format!("{} (at both hosts)", command.replace("DEV", sender)),
            false => format!("{command} (at both hosts, where DEV is {sender} and {receiver})"),
        }
    }
}
