//! Where a study is executed: in its embedded lab, or between two named hosts.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::event::{EndpointDescription, Event};
use bitcost_model::ping::RttCheck;
use bitcost_model::study::{Cell, LabSpec};
use bitcost_study::Study;

use crate::embedded;
use crate::error::ExecuteError;
use crate::hosts::Named;
use crate::local::check_cpus;
use crate::prepared::Prepared;
use crate::progress::Progress;

pub enum Destination {
    Lab,
    Hosts(Box<Named>),
}

impl From<Named> for Destination {
    fn from(named: Named) -> Destination {
        Destination::Hosts(Box::new(named))
    }
}

impl Destination {
    /// Starts the agents, and checks that every cell is possible there.
    pub fn prepare<'a>(
        &self,
        study: &Study,
        stop: &'a AtomicBool,
    ) -> Result<Prepared<'a>, ExecuteError> {
        self.check(study)?;
        match self {
            Destination::Lab => embedded::prepare(&study.lab, stop),
            Destination::Hosts(named) => {
                let mut prepared = named.prepare(&study.base.places, stop)?;
                let mtu = least_mtu(&prepared.ends);
                // The limits of the interfaces are known only now.
                check(study, &|cell| cell.conditions.check(mtu))?;
                if prepared.is_one_host() {
                    check(study, &|cell| cell.conditions.check_on_one_host())?;
                }
                prepared.notes.extend(lab_not_used(study));
                Ok(prepared)
            }
        }
    }

    /// Checks everything that can be checked before a lab is built or a host is reached.
    pub fn check(&self, study: &Study) -> Result<(), ExecuteError> {
        match self {
            Destination::Lab => check(study, &|cell| {
                check_cpus(&cell.conditions)?;
                cell.conditions.check_in_lab(study.lab.mtu_bytes)?;
                check_emulated(&cell.conditions, &study.lab)
            }),
            Destination::Hosts(_) => check(study, &|cell| check_without_lab(&cell.conditions)),
        }
    }

    pub fn lab<'a>(&self, study: &'a Study) -> Option<&'a LabSpec> {
        match self {
            Destination::Lab => Some(&study.lab),
            Destination::Hosts(_) => None,
        }
    }

    /// Whether the sender (0) or the receiver (1) is on this machine.
    pub fn is_local(&self, endpoint: usize) -> bool {
        match self {
            Destination::Lab => true,
            Destination::Hosts(named) => named.is_local(endpoint),
        }
    }

    /// Reports the notes on named hosts if the user may have meant another path, and warns of messages that do not fit the
    /// path.
    pub fn report_notes(&self, study: &Study, prepared: &Prepared, progress: &mut dyn Progress) {
        if matches!(self, Destination::Hosts(_)) {
            let notes = prepared.notes.iter();
            notes.for_each(|note| progress.message(&format!("note: {note}")));
        }
        let path = self.lab(study).and_then(LabSpec::path);
        let mtu = path.map_or(u32::MAX, |path| path.mtu_bytes);
        let mtu = mtu.min(least_mtu(&prepared.ends));
        let mut told = BTreeSet::new();
        for part in study
            .cells()
            .iter()
            .flat_map(|cell| cell.conditions.parts())
        {
            let mtu = part.asked_mtus().min().unwrap_or(mtu);
            if let Some((words, most)) = part.in_fragments(mtu, None)
                && told.insert(words.clone())
            {
                let remedy = part.use_at_most(most);
                progress.message(&format!("warning: {words}; {remedy}"));
            }
        }
    }

    /// The hosts and their lab as the event that the log keeps.
    pub fn event(&self, study: &Study, prepared: &Prepared) -> Event {
        let ends = (prepared.ends.clone(), prepared.shared_cpus);
        self.place(study, ends, prepared.notes.clone(), prepared.rtt.clone())
    }

    /// As [`Destination::event`], with the endpoints and whether they share CPUs.
    pub fn place(
        &self,
        study: &Study,
        (endpoints, shared_cpus): (Vec<EndpointDescription>, bool),
        notes: Vec<String>,
        rtt: Option<RttCheck>,
    ) -> Event {
        let (lab, hosts) = match self {
            Destination::Lab => (Some(Box::new(study.lab.clone())), None),
            Destination::Hosts(named) => (None, Some(named.spec.clone())),
        };
        Event::Prepared {
            lab,
            endpoints,
            shared_cpus,
            notes,
            hosts,
            rtt,
        }
    }

    /// The first sentence of a plan; absent in the lab.
    pub fn phrase(&self, study: &Study) -> Option<String> {
        match self {
            Destination::Lab => None,
            Destination::Hosts(named) => {
                let lab = lab_not_used(study).map_or(String::new(), |lab| format!("; {lab}"));
                Some(format!("between {}{lab}", named.phrase()))
            }
        }
    }
}

/// Refuses every place of the study without which all cells would be possible.
fn check(study: &Study, of: &dyn Fn(&Cell) -> Result<(), Invalid>) -> Result<(), ExecuteError> {
    let found = study.impossible(of);
    if found.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    Err(ExecuteError::Usage(lines.join("\n")))
}

/// Refuses a limit of the emulators' queues in a lab that has none.
fn check_emulated(conditions: &Conditions, lab: &LabSpec) -> Result<(), Invalid> {
    let mut ends = lab.network.ends();
    if conditions.emulator_queue_limit.is_some() && !ends.any(|end| end.egress.needs_emulator()) {
        let why = "emulator_queue_limit has no effect: nothing in this lab delays packets";
        return Err(Invalid(why.to_owned()));
    }
    Ok(())
}

/// Refuses what only the links of a lab can do.
pub fn check_without_lab(conditions: &Conditions) -> Result<(), Invalid> {
    if conditions.emulator_queue_limit.is_some() {
        return Err(
            Invalid("emulator_queue_limit needs a lab: named hosts have no bitcost link emulator between them"
                .to_owned()),
        );
    }
    if conditions.path_change.is_some() {
        return Err(Invalid(
            "path_change needs a lab: it changes the lab's links, and named hosts have none".into(),
        ));
    }
    if conditions.moderation_us.is_some() {
        return Err(Invalid(
            "moderation needs a lab; between named hosts use coalesce".into(),
        ));
    }
    Ok(())
}

fn least_mtu(ends: &[EndpointDescription]) -> u32 {
    // An iperf3 server does not name its interface.
    ends.iter()
        .filter(|end| !end.host.device.name.is_empty())
        .map(|end| end.host.device.mtu_bytes)
        .min()
        .unwrap_or(u32::MAX)
}

/// Absent where the study has no lab of its own.
fn lab_not_used(study: &Study) -> Option<String> {
    if study.lab.network.nodes.is_empty() || !study.names_lab() {
        return None;
    }
    let topology = &study.lab.topology;
    let napi = study.lab.napi.name();
    let mtu = study.lab.mtu_bytes;
    Some(format!(
        "the study's [lab] is not used: topology {topology}, mtu_bytes {mtu}, napi {napi}"
    ))
}
