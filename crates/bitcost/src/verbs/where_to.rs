//! Where a study runs: in its embedded lab, or between hosts that were named.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::event::{EndDescription, Event};
use model::plan::Plan;
use model::study::{Cell, Study};
use model::topology::Napi;

use crate::failure::Failure;
use crate::hosts::{Hosts, Named};
use crate::labs;
use crate::place::{self, Prepared};
use crate::programs::Programs;

/// The hosts of a study.
#[derive(clap::Args)]
pub struct Place {
    #[command(flatten)]
    hosts: Hosts,
    /// The receiver's address for the data (default: that of its name, or of --receiver-dev)
    #[arg(long, value_name = "ADDR", help_heading = "Hosts")]
    receiver_address: Option<IpAddr>,
}

impl Place {
    /// Where the study is to run.
    ///
    /// # Errors
    /// Usage, when something was said of hosts and none was named.
    pub fn asked(&self) -> Result<Where, Failure> {
        Ok(self.hosts.named(self.receiver_address)?.map_or(Where::Lab, |named| Where::Hosts(Box::new(named))))
    }

    /// Where an execution goes on that began in `before`; absent: it was broken off before it had a place.
    ///
    /// # Errors
    /// Usage, when hosts are named for an execution that began in the lab.
    pub fn again(&self, before: Option<&Event>) -> Result<Where, Failure> {
        let asked = self.asked()?;
        match (before, asked) {
            (Some(Event::Prepared { hosts: None, .. }), Where::Hosts(_)) => Err(Failure::Usage(
                "the execution began in the embedded lab, and goes on there alone; leave out --sender and --receiver, or start anew".to_owned(),
            )),
            (Some(Event::Prepared { hosts: Some(hosts), .. }), Where::Lab) => {
                Named::from_log(hosts.clone()).map(|named| Where::Hosts(Box::new(named)))
            }
            (_, asked) => Ok(asked),
        }
    }
}

/// Where a study runs.
pub enum Where {
    /// In the lab that it names.
    Lab,
    /// Between these.
    Hosts(Box<Named>),
}

impl Where {
    /// Starts the agents, and checks that every cell is possible there. The programs are those that the plan names.
    ///
    /// # Errors
    /// When there is no such place, or a cell does not fit it.
    pub fn prepare<'a>(
        &self,
        study: &Study,
        plan: &Plan,
        mut programs: Programs,
        stop: &'a AtomicBool,
    ) -> Result<Prepared<'a>, Failure> {
        programs.identify()?;
        let programs = Arc::new(programs);
        let mut prepared = self.agents(study, plan, &programs, stop)?;
        prepared.try_programs(&programs)?;
        Ok(prepared)
    }

    fn agents<'a>(
        &self,
        study: &Study,
        plan: &Plan,
        programs: &Arc<Programs>,
        stop: &'a AtomicBool,
    ) -> Result<Prepared<'a>, Failure> {
        match self {
            Where::Lab => {
                plan.cells.iter().try_for_each(|cell| place::check_cpus(&cell.conditions))?;
                check(study, plan, |cell| cell.conditions.check_in_lab(study.lab.mtu_bytes))?;
                Ok(place::embedded(&study.lab, programs, true)?.prepare(stop)?)
            }
            Where::Hosts(named) => {
                let mut prepared = named.prepare(&study.base.places, programs, stop)?;
                let mtu = least_mtu(&prepared.ends);
                // What fits the interfaces is known only now.
                check(study, plan, |cell| cell.conditions.check(mtu))?;
                if prepared.is_one_host() {
                    check(study, plan, |cell| model::one_host::check(&cell.conditions))?;
                }
                prepared.notes.push(unused_lab(study, mtu));
                Ok(prepared)
            }
        }
    }

    /// Says on standard error what of the study's lab spoils its result.
    pub fn say_lints(&self, study: &Study, plan: &Plan) {
        if let Where::Lab = self {
            labs::say_lints(Some(&study.lab), plan.cells.iter().map(|cell| &cell.conditions));
        }
    }

    /// The place as the log keeps it.
    pub fn event(&self, study: &Study, prepared: &Prepared) -> Event {
        let (lab, hosts) = match self {
            Where::Lab => (Some(Box::new(study.lab.clone())), None),
            Where::Hosts(named) => (None, Some(named.spec.clone())),
        };
        let Prepared { ends, notes, rtt, shared_cpus, programs, .. } = prepared;
        let (ends, notes, rtt, programs) = (ends.clone(), notes.clone(), rtt.clone(), programs.clone());
        Event::Prepared { lab, ends, shared_cpus: *shared_cpus, notes, hosts, rtt, programs }
    }

    /// The sentence that a plan begins with; none in the lab.
    pub fn phrase(&self, study: &Study) -> Option<String> {
        match self {
            Where::Lab => None,
            Where::Hosts(named) => Some(format!("between {}; {}", named.phrase(), lab_not_used(study))),
        }
    }
}

fn check(study: &Study, plan: &Plan, of: impl Fn(&Cell) -> Result<(), String>) -> Result<(), Failure> {
    let check = |cell: &Cell| of(cell).map_err(|why| Failure::Usage(format!("{}: {}: {why}", study.name, cell.name())));
    plan.cells.iter().try_for_each(check)
}

fn least_mtu(ends: &[EndDescription]) -> u32 {
    ends.iter().map(|end| end.host.device.mtu_bytes).min().unwrap_or(u32::MAX)
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
    format!("{unused}; the interfaces have an MTU of {mtu} (mtu_bytes in [workload] sets it for each run)")
}
