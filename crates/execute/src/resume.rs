//! Resumes an execution: makes the runs of its plan that are missing.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use bitcost_model::event::{EndpointDescription, Event};
use bitcost_study::Study;

use crate::destination::Destination;
use crate::error::ExecuteError;
use crate::experiment::Allows;
use crate::hosts::Named;
use crate::logged::Logged;
use crate::machines::{as_seen_locally, check_same};
use crate::mesh;
use crate::progress::Progress;
use crate::recorder::{Executed, Recorder};
use crate::store::{End, Writer};
use crate::trust;

/// An execution that is to be resumed, as its log describes it.
pub struct Resume(Logged);

impl Resume {
    /// Reads the log of an execution.
    pub fn read(folder: &Path) -> Result<Resume, ExecuteError> {
        let mut logged = Logged::read(folder)?;
        // The lab is the one of the log, with the changes that the command line made to it.
        if let Some(Event::Prepared { lab: Some(lab), .. }) = &logged.prepared
            && lab.network.is_some()
        {
            logged.study.lab = (**lab).clone();
        }
        Ok(Resume(logged))
    }

    pub fn study(&self) -> &Study {
        &self.0.study
    }

    pub fn end(&self) -> &End {
        &self.0.end
    }

    /// Where the execution is resumed: at the place where it began, or at `asked` if it was
    /// interrupted before the place was logged.
    pub fn destination(&self, asked: Destination) -> Result<Destination, ExecuteError> {
        match (&self.0.prepared, asked) {
            (Some(Event::Prepared { hosts: None, .. }), Destination::Hosts(_)) => Err(ExecuteError::Usage(
                "the execution began in the embedded lab and can only be resumed there; leave out --sender and --receiver, or start a new execution".to_owned(),
            )),
            // The log of a mesh names how its hosts are reached.
            (Some(Event::Prepared { hosts: Some(hosts), .. }), asked)
                if matches!(asked, Destination::Lab) || self.0.study.mesh.is_some() =>
            {
                Named::from_log(hosts.clone()).map(|named| Destination::Hosts(Box::new(named)))
            }
            (_, asked) => Ok(asked),
        }
    }

    /// Makes the missing runs. With `trust`, the hosts that the log names are used even if somebody
    /// else may have written it.
    pub fn execute(
        self,
        destination: &Destination,
        (measures_constants, trust): (bool, bool),
        allows: Allows,
        command_line: Vec<String>,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Executed, ExecuteError> {
        let Resume(logged) = self;
        let (study, plan, done) = (&logged.study, &logged.plan, &logged.done);
        trust::check(&logged, destination, trust, progress)?;
        if let Some(mesh) = &study.mesh {
            let job = mesh::Job {
                study,
                mesh,
                plan,
                destination,
                command_line: &command_line,
            };
            return job.resume(&logged, stop, progress);
        }
        let writer = Writer::resume(&logged.folder, &logged.end)?;
        logged.check_without_starting(destination)?;
        let mut prepared = destination.prepare(study, stop)?;
        prepared.try_profile(plan)?;
        if let Some(Event::Prepared {
            endpoints: ends,
            hosts,
            ..
        }) = &logged.prepared
        {
            check_same(ends, &prepared.ends, hosts.is_some())?;
        }
        destination.report_notes(study, &prepared, progress);
        let mut recorder = Recorder::resumed(writer, &logged, command_line, progress)?;
        if logged.prepared.is_none() {
            recorder.record(&destination.event(study, &prepared))?;
        }
        // They are those before the first run.
        if measures_constants
            && done.is_empty()
            && !logged.has_constants
            && let Some(event) = prepared.measure_constants()?
        {
            recorder.record(&event)?;
        }
        let mut plan = plan.clone();
        let lab = destination.lab(study);
        recorder.search(&mut prepared, (study, &mut plan, lab), allows)?;
        Ok(recorder
            .execute(&mut prepared.session, (study, &plan), done)
            .0)
    }
}

impl Logged {
    /// Checks everything that can be checked of machines without starting anything.
    fn check_without_starting(&self, destination: &Destination) -> Result<(), ExecuteError> {
        let Some(Event::Prepared {
            endpoints: ends,
            hosts,
            ..
        }) = &self.prepared
        else {
            return Ok(());
        };
        let local: Vec<EndpointDescription> = ends
            .iter()
            .enumerate()
            .filter(|(index, _)| destination.is_local(*index))
            .map(|(_, end)| end.clone())
            .collect();
        let now: Vec<EndpointDescription> = local.iter().map(as_seen_locally).collect();
        check_same(&local, &now, hosts.is_some())
    }
}
