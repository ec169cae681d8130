//! An execution that is resumed, as its log describes it: read in one pass, and compared with the present hosts.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use bitcost_analysis::log::{LogError, Reader, nothing_measured};
use bitcost_model::event::{EndpointDescription, Event};
use bitcost_model::machine::HostDescription;
use bitcost_model::plan::Plan;
use bitcost_study::Study;

use crate::destination::Destination;
use crate::error::ExecuteError;
use crate::hosts::Named;
use crate::progress::Progress;
use crate::store::{End, LogFile};

pub struct Logged {
    pub folder: PathBuf,
    /// The facts of the file that was read.
    pub facts: Metadata,
    pub study: Study,
    /// Its plan, which equals the plan that the study gives.
    pub plan: Plan,
    /// Its event `prepared`; absent if the execution stopped before it.
    pub prepared: Option<Event>,
    pub has_constants: bool,
    /// The runs that have their result. A run in which nothing was measured is made again.
    pub done: BTreeSet<u32>,
    pub end: End,
    pub reader: Reader,
}

impl Logged {
    /// Reads the log of an execution that is to be resumed.
    pub fn read(folder: &Path) -> Result<Logged, ExecuteError> {
        let log = LogFile::open(folder)?;
        let (mut reader, mut done, mut has_constants) = (Reader::default(), BTreeSet::new(), false);
        let (mut planned, mut prepared) = (None, None);
        let end = log.read(&mut |place, event| {
            reader.take(place, &event);
            match event {
                Event::Planned { plan } => planned = Some(plan),
                Event::Prepared { .. } if prepared.is_none() => prepared = Some(event),
                Event::Constants { .. } => has_constants = true,
                Event::RunEnded {
                    run,
                    interrupted: None,
                    sender,
                    receiver,
                    ..
                } if !nothing_measured(&sender, &receiver) => {
                    done.insert(run);
                }
                _ => {}
            }
        })?;
        let shown = log.folder.display().to_string();
        let usage =
            |why: String| ExecuteError::Usage(format!("{shown}: {why}; start a new execution"));
        let Some(plan) = planned else {
            return Err(ExecuteError::Usage(format!(
                "the log in {shown} ends before its plan: nothing was run; start a new execution"
            )));
        };
        let checked = reader.clone().finish();
        let (checked, _) = checked.map_err(|error| usage(error.to_string()))?;
        let mut study = checked.summary.study;
        if !study.gives(&plan) {
            return Err(usage(LogError::OtherPlan.to_string()));
        }
        if prepared.is_none() && !done.is_empty() {
            return Err(usage(
                "the log holds results and does not describe their hosts (no `prepared` event)"
                    .into(),
            ));
        }
        // The lab is the one of the log, with the changes that the command line made to it.
        if let Some(Event::Prepared { lab: Some(lab), .. }) = &prepared
            && !lab.network.nodes.is_empty()
        {
            study.lab = (**lab).clone();
        }
        Ok(Logged {
            folder: log.folder,
            facts: log.facts,
            study,
            plan,
            prepared,
            has_constants,
            done,
            end,
            reader,
        })
    }

    /// Where the execution is resumed: at the place where it began, or at `requested` if it was
    /// interrupted before the place was logged.
    pub fn destination(&self, requested: Destination) -> Result<Destination, ExecuteError> {
        match (&self.prepared, requested) {
            (Some(Event::Prepared { hosts: None, .. }), Destination::Hosts(_)) => Err(ExecuteError::Usage(
                "the execution began in the embedded lab and can only be resumed there; leave out --sender and --receiver, or start a new execution".to_owned(),
            )),
            // The log of a mesh names how its hosts are reached.
            (Some(Event::Prepared { hosts: Some(hosts), .. }), requested)
                if matches!(requested, Destination::Lab) || self.study.mesh.is_some() =>
            {
                Named::from_log(hosts.clone()).map(Destination::from)
            }
            (_, requested) => Ok(requested),
        }
    }

    /// The endpoints as this process sees them without an agent there: those on this machine are described anew, but for their
    /// network and the agent's rights.
    pub(crate) fn seen_here(&self, destination: &Destination) -> Vec<EndpointDescription> {
        let Some(Event::Prepared { endpoints, .. }) = &self.prepared else {
            return Vec::new();
        };
        let mut seen = endpoints.clone();
        for (index, end) in seen.iter_mut().enumerate() {
            if destination.is_local(index) {
                let was = std::mem::take(&mut end.host);
                end.host = HostDescription {
                    device: was.device,
                    sysctls: was.sysctls,
                    governor: was.governor,
                    bitcost_version: was.bitcost_version,
                    is_root: was.is_root,
                    ..bitcost_probe::host::describe()
                };
            }
        }
        seen
    }

    /// Checks that the endpoints are on the machines on which the execution began; a host of a mesh may be missing. The
    /// names of named hosts must be the same, too, because two machines may be equal.
    pub(crate) fn check_machines(
        &self,
        now: &[EndpointDescription],
        progress: &mut dyn Progress,
    ) -> Result<(), ExecuteError> {
        let Some(Event::Prepared {
            endpoints, hosts, ..
        }) = &self.prepared
        else {
            return Ok(());
        };
        let mut differences = Vec::new();
        for (index, was) in endpoints.iter().enumerate() {
            let is = match self.study.mesh {
                Some(_) => now.iter().find(|is| is.place == was.place),
                None => now.get(index),
            };
            let Some(is) = is else {
                let place = &was.place;
                progress.message(&format!("{place} is missing now; its runs have no result"));
                continue;
            };
            let role = is.role.name();
            if hosts.is_some() && was.host.host_name != is.host.host_name {
                let (was, is) = (&was.host.host_name, &is.host.host_name);
                differences.push(format!("  {role}: host name: was {was}, is {is}"));
            }
            let of_host = is.host.differences(&was.host).into_iter();
            differences.extend(of_host.map(|found| format!("  {role}: {found}")));
        }
        if differences.is_empty() {
            return Ok(());
        }
        let list = differences.join("\n");
        Err(ExecuteError::Environment(format!(
            "this is not the machine of the execution; start a new execution instead:\n{list}"
        )))
    }
}
