//! Where a study is executed: in its embedded lab, or between two named hosts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bitcost_model::event::{EndpointDescription, Event};
use bitcost_model::plan::Plan;
use bitcost_model::study::{Cell, LabSpec};
use bitcost_model::topology::Napi;
use bitcost_study::Study;
use bitcost_study::topology::Warning;

use crate::calibration::Extent;
use crate::embedded;
use crate::error::ExecuteError;
use crate::hosts::Named;
use crate::labs;
use crate::local::check_cpus;
use crate::prepared::Prepared;
use crate::programs::Programs;
use crate::progress::Progress;

/// Where a study is executed.
pub enum Destination {
    /// In the lab that the study names.
    Lab,
    /// Between these two hosts.
    Hosts(Box<Named>),
}

impl Destination {
    /// Starts the agents of the programs that the plan names, and checks that every cell is
    /// possible there.
    ///
    /// # Errors
    /// When the hosts cannot be reached or the lab cannot be built, or when a cell does not fit
    /// them.
    pub fn prepare<'a>(
        &self,
        (study, plan): (&Study, &Plan),
        mut programs: Programs,
        calibration: Extent,
        stop: &'a AtomicBool,
    ) -> Result<Prepared<'a>, ExecuteError> {
        programs.identify()?;
        let programs = Arc::new(programs);
        let mut prepared = self.agents((study, plan), &programs, calibration, stop)?;
        prepared.try_programs(&programs)?;
        Ok(prepared)
    }

    fn agents<'a>(
        &self,
        (study, plan): (&Study, &Plan),
        programs: &Arc<Programs>,
        calibration: Extent,
        stop: &'a AtomicBool,
    ) -> Result<Prepared<'a>, ExecuteError> {
        match self {
            Destination::Lab => {
                plan.cells
                    .iter()
                    .try_for_each(|cell| check_cpus(&cell.conditions))?;
                check(study, plan, |cell| {
                    cell.conditions.check_in_lab(study.lab.mtu_bytes)
                })?;
                let is_pinged = calibration != Extent::Never;
                Ok(embedded::build(&study.lab, programs, is_pinged)?.prepare(stop)?)
            }
            Destination::Hosts(named) => {
                let mut prepared = named.prepare(&study.base.places, programs, stop)?;
                let mtu = least_mtu(&prepared.ends);
                // The limits of the interfaces are known only now.
                check(study, plan, |cell| cell.conditions.check(mtu))?;
                if prepared.is_one_host() {
                    check(study, plan, |cell| {
                        bitcost_model::one_host::check(&cell.conditions)
                    })?;
                }
                if study.lab.network.is_some() {
                    prepared.notes.push(unused_lab(study, mtu));
                }
                Ok(prepared)
            }
        }
    }

    /// The warnings about the study's lab; none between named hosts.
    pub fn warnings(&self, study: &Study, plan: &Plan) -> Vec<Warning> {
        match self {
            Destination::Lab => {
                labs::warnings_for(&study.lab, plan.cells.iter().map(|cell| &cell.conditions))
            }
            Destination::Hosts(_) => Vec::new(),
        }
    }

    /// The lab in which the study is executed.
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

    /// Reports the notes on named hosts if the user may have meant another path.
    pub fn report_notes(&self, notes: &[String], progress: &mut dyn Progress) {
        if matches!(self, Destination::Hosts(_)) {
            notes
                .iter()
                .for_each(|note| progress.message(&format!("note: {note}")));
        }
    }

    /// The hosts and their lab as the event that the log keeps.
    pub fn event(&self, study: &Study, prepared: &Prepared) -> Event {
        let (lab, hosts) = match self {
            Destination::Lab => (Some(Box::new(study.lab.clone())), None),
            Destination::Hosts(named) => (None, Some(named.spec.clone())),
        };
        Event::Prepared {
            lab,
            endpoints: prepared.ends.clone(),
            shared_cpus: prepared.shared_cpus,
            notes: prepared.notes.clone(),
            hosts,
            rtt: prepared.rtt.clone(),
            programs: prepared.programs.clone(),
        }
    }

    /// The first sentence of a plan; absent in the lab.
    pub fn phrase(&self, study: &Study) -> Option<String> {
        match self {
            Destination::Lab => None,
            Destination::Hosts(named) => Some(format!(
                "between {}; {}",
                named.phrase(),
                lab_not_used(study)
            )),
        }
    }
}

fn check(
    study: &Study,
    plan: &Plan,
    of: impl Fn(&Cell) -> Result<(), String>,
) -> Result<(), ExecuteError> {
    let check = |cell: &Cell| {
        of(cell)
            .map_err(|why| ExecuteError::Usage(format!("{}: {}: {why}", study.name, cell.name())))
    };
    plan.cells.iter().try_for_each(check)
}

fn least_mtu(ends: &[EndpointDescription]) -> u32 {
    ends.iter()
        .map(|end| end.host.device.mtu_bytes)
        .min()
        .unwrap_or(u32::MAX)
}

fn lab_not_used(study: &Study) -> String {
    let topology = &study.lab.topology;
    let napi = match study.lab.napi {
        Napi::Threaded => "threaded",
        Napi::Inline => "inline",
    };
    let mtu = study.lab.mtu_bytes;
    format!("the study's [lab] is not used: topology {topology}, mtu_bytes {mtu}, napi {napi}")
}

fn unused_lab(study: &Study, mtu: u32) -> String {
    let unused = lab_not_used(study);
    if mtu == study.lab.mtu_bytes {
        return unused;
    }
    format!(
        "{unused}; the interfaces have an MTU of {mtu} (mtu_bytes in [workload] sets it for each run)"
    )
}
