//! Executes a study: from its first run, or those of its runs that its log lacks.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bitcost_controller::Ending;
use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
use bitcost_study::Study;
use bitcost_study::mesh::Mesh;

use crate::destination::Destination;
use crate::error::ExecuteError;
use crate::experiment::{Allows, Bench, Experiment, look};
use crate::logged::Logged;
use crate::mesh::{Ground, make};
use crate::progress::Progress;
use crate::recorder::{Executed, Recorder};
use crate::store::{Writer, stamped};
use crate::target::Target;

pub struct Start<'a> {
    pub study: &'a Study,
    pub plan: &'a Plan,
    pub destination: &'a Destination,
    /// Whether the constants of the machines are measured before the first run.
    pub measures_constants: bool,
    /// The log that is continued; absent for a new execution.
    pub log: Option<&'a Logged>,
    /// The parent of the folder that is created for a new log; if it is absent, the log is kept in
    /// memory alone.
    pub out: Option<&'a Path>,
    /// The name of that folder; without one it is the time and the study.
    pub name: Option<&'a str>,
    /// What follows it, of a test.
    pub experiment: Option<Experiment>,
    pub command_line: Vec<String>,
    /// What the endpoints allow, for a search of fast options.
    pub allows: Allows,
}

impl<'a> Start<'a> {
    /// A study that is executed without measuring constants and kept in memory alone, unless fields say otherwise.
    pub fn new(
        study: &'a Study,
        plan: &'a Plan,
        destination: &'a Destination,
        command_line: Vec<String>,
    ) -> Start<'a> {
        Start {
            study,
            plan,
            destination,
            measures_constants: false,
            log: None,
            out: None,
            name: None,
            experiment: None,
            command_line,
            allows: |_| Ok(()),
        }
    }

    fn target(&self) -> Result<Target, ExecuteError> {
        let Some(out) = self.out else {
            return Ok(Target::Memory(Vec::new()));
        };
        let name = self
            .name
            .map_or_else(|| stamped(&self.study.name), str::to_owned);
        Writer::create(out, &name, self.plan.runs.len()).map(Target::Disk)
    }

    /// The recorder, after the first events: what is executed, and where, unless the log has it.
    fn recorder<'p>(
        &self,
        resumed: Option<Writer>,
        place: &Event,
        progress: &'p mut dyn Progress,
    ) -> Result<Recorder<'p>, ExecuteError> {
        let command_line = self.command_line.clone();
        let mut recorder = match (self.log, resumed) {
            (Some(log), Some(writer)) => Recorder::resumed(writer, log, command_line, progress)?,
            _ => {
                let mut recorder = Recorder::new(self.target()?, progress);
                recorder.begin(self.study, self.plan, command_line)?;
                recorder
            }
        };
        if self.log.is_none_or(|log| log.prepared.is_none()) {
            recorder.record(place)?;
        }
        Ok(recorder)
    }

    /// Prepares the hosts, opens the log, measures the machines' constants, and makes every run that the log lacks. When
    /// `stop` becomes true, the present run ends soon, and its measured data is kept.
    pub fn execute(
        self,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Executed, ExecuteError> {
        // Nothing is started while another bitcost writes the log.
        let resumed = self.log.map(|log| Writer::resume(&log.folder, &log.end));
        let resumed = resumed.transpose()?;
        let made = match &self.study.mesh {
            Some(mesh) => self.between_many(mesh, resumed, stop, progress),
            None => self.between_two(resumed, stop, progress),
        };
        match made {
            // Ctrl-C also ends the programs that are asked for names and addresses, such as getent.
            Err(ExecuteError::Environment(_)) if stop.load(Ordering::Relaxed) => {
                Err(ExecuteError::Interrupted)
            }
            made => made,
        }
    }

    fn between_many(
        &self,
        mesh: &Mesh,
        resumed: Option<Writer>,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Executed, ExecuteError> {
        let (study, plan) = (self.study, self.plan);
        let mut ground = Ground::open((study, mesh, plan), self.destination, stop, progress)?;
        if let Some(log) = self.log {
            log.check_machines(&ground.ends(), progress)?;
        }
        let place = ground.event(study, self.destination);
        let recorder = self.recorder(resumed, &place, progress)?;
        let done = self.log.map(|log| log.done.clone()).unwrap_or_default();
        let made = recorder.watched(|sink, _| make(&mut ground, (mesh, plan), &done, stop, sink));
        Ok(made.0)
    }

    fn between_two(
        self,
        resumed: Option<Writer>,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Executed, ExecuteError> {
        let (study, destination, allows) = (self.study, self.destination, self.allows);
        // Another machine is noticed before anything that the log names is started.
        if let Some(log) = self.log {
            log.check_machines(&log.seen_here(destination), progress)?;
        }
        let mut prepared = destination.prepare(study, stop)?;
        // Nothing is logged where the CPUs of the hosts cannot be sampled.
        if self.plan.is_profiled {
            prepared.session.try_profile(prepared.shared_cpus)?;
        }
        if let Some(log) = self.log {
            log.check_machines(&prepared.ends, progress)?;
        }
        destination.report_notes(study, &prepared, progress);
        let place = destination.event(study, &prepared);
        let mut recorder = self.recorder(resumed, &place, &mut *progress)?;
        // They are those before the first run.
        let is_known = |log: &Logged| log.has_constants || !log.done.is_empty();
        if self.measures_constants
            && !self.log.is_some_and(is_known)
            && let Some(event) = prepared.measure_constants()?
        {
            recorder.record(&event)?;
        }
        let mut plan = self.plan.clone();
        let lab = destination.lab(study);
        recorder.search(&mut prepared, (study, &mut plan, lab), allows)?;
        let none = BTreeSet::new();
        let done = self.log.map_or(&none, |log| &log.done);
        let (mut executed, mut target) =
            recorder.execute(&mut prepared.session, (study, &plan), done);
        if self.log.is_none()
            && let (Ok(findings), Ok(Ending::Complete)) = (&mut executed.findings, &executed.ending)
        {
            let mut bench = Bench::new(&mut prepared, &mut target, allows, progress);
            executed.ending = match (look(&mut bench, findings), self.experiment) {
                (Ok(None), Some(experiment)) => experiment.make(&mut bench, findings, &place),
                (looked, _) => looked.map(|ending| ending.unwrap_or(Ending::Complete)),
            };
            findings.log = target.place()?;
        }
        Ok(executed)
    }
}
