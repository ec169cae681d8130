//! Both endpoints with their agents started, before the first run.

use std::sync::atomic::AtomicBool;

use bitcost_analysis::log::PlaceFacts;
use bitcost_controller::{ControllerError, Endpoints, PathControl, Session};
use bitcost_model::event::{EndpointDescription, ProgramUsed};
use bitcost_model::ping::{Pings, RttCheck};
use bitcost_model::plan::Plan;

use crate::error::ExecuteError;
use crate::programs::Programs;

/// A lab that was built, and how agents are started at its endpoints.
pub struct BuiltLab {
    /// The way in which both agents are started. The lab exists as long as this value.
    pub ends: Endpoints,
    /// The requests to the lab that are not in effect, one sentence each.
    pub notes: Vec<String>,
    /// The requested and the measured round-trip time; absent if the lab requests none.
    pub rtt: Option<RttCheck>,
    /// Round trips of the idle path; absent if they were not measured.
    pub idle: Option<Pings>,
    /// Whether the interface of the sender and of the receiver receives in kernel threads, as the
    /// lab set it.
    pub napi_threaded: [bool; 2],
    /// Where the interface of the sender and of the receiver has its receive work done, in words.
    pub receives: [String; 2],
    /// The name of the machine, where the endpoints' host names are those of nodes.
    pub machine: Option<String>,
    /// Sets up the network as a run requests it.
    pub path: Box<dyn PathControl>,
}

/// Agents at both endpoints, and the facts about their hosts.
pub struct Prepared<'a> {
    /// Both agents.
    pub session: Session<'a>,
    /// Both endpoints.
    pub ends: Vec<EndpointDescription>,
    /// As [`BuiltLab::notes`].
    pub notes: Vec<String>,
    /// As [`BuiltLab::rtt`].
    pub rtt: Option<RttCheck>,
    /// As [`BuiltLab::idle`].
    pub idle: Option<Pings>,
    /// Whether both endpoints run on the CPUs of one machine.
    pub shared_cpus: bool,
    /// The programs that play the endpoints, if runs name any.
    pub programs: Vec<ProgramUsed>,
}

impl Prepared<'_> {
    /// Checks that each program that a run names can play both endpoints, before anything is
    /// logged.
    ///
    /// # Errors
    /// When one does not start or speaks another version of the control protocol.
    pub fn try_programs(&mut self, programs: &Programs) -> Result<(), ExecuteError> {
        for program in programs.others() {
            self.session.try_program(program)?;
        }
        self.programs = programs.used()?;
        Ok(())
    }

    /// Checks that the hosts' CPUs can be sampled, if the plan is profiled, before anything is logged.
    ///
    /// # Errors
    /// Environment, with what a host lacks.
    pub fn try_profile(&mut self, plan: &Plan) -> Result<(), ExecuteError> {
        match plan.is_profiled {
            true => Ok(self.session.try_profile(self.shared_cpus)?),
            false => Ok(()),
        }
    }

    /// Whether both endpoints are on one host.
    pub fn is_one_host(&self) -> bool {
        self.ends.iter().all(|end| end.place == self.ends[0].place)
    }

    /// The facts about the hosts that the formulas of a run need.
    pub fn facts(&self) -> PlaceFacts {
        PlaceFacts::new(self.shared_cpus, &self.ends)
    }
}

impl BuiltLab {
    /// Starts the agents and makes them describe their hosts. Kernels before 6.8 do not report
    /// whether an interface receives in kernel threads; for these the value is the one that the lab
    /// set and read back.
    ///
    /// # Errors
    /// When an agent cannot be started or cannot describe its host.
    pub fn prepare(self, stop: &AtomicBool) -> Result<Prepared<'_>, ControllerError> {
        let mut session = Session::open(self.ends, stop)?;
        session.set_path_control(self.path);
        let mut ends = session.describe()?;
        for (end, threaded) in ends.iter_mut().zip(self.napi_threaded) {
            end.host.device.napi_threaded.get_or_insert(threaded);
        }
        for (end, receives) in ends.iter_mut().zip(self.receives) {
            end.host.device.receives = Some(receives);
        }
        if let Some(machine) = self.machine {
            for end in &mut ends {
                end.host.host_name.clone_from(&machine);
            }
        }
        Ok(Prepared {
            session,
            ends,
            notes: self.notes,
            rtt: self.rtt,
            idle: self.idle,
            shared_cpus: true,
            programs: Vec::new(),
        })
    }
}
