//! Executes a study from its first run.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use bitcost_controller::Ending;
use bitcost_model::plan::Plan;
use bitcost_study::Study;

use crate::destination::Destination;
use crate::error::ExecuteError;
use crate::experiment::{Allows, Bench, Experiment, look};
use crate::mesh;
use crate::progress::Progress;
use crate::recorder::{Executed, Recorder};
use crate::store::{StoreError, Writer, stamped};
use crate::target::Target;

pub struct Start<'a> {
    pub study: &'a Study,
    pub plan: &'a Plan,
    pub destination: &'a Destination,
    /// Whether the constants of the machines are measured before the first run.
    pub measures_constants: bool,
    /// The parent of the folder that is created for the log; if it is absent, the log is kept in
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
            out: None,
            name: None,
            experiment: None,
            command_line,
            allows: |_| Ok(()),
        }
    }

    fn target(&self) -> Result<Target, StoreError> {
        let Some(out) = self.out else {
            return Ok(Target::Memory(Vec::new()));
        };
        let name = self
            .name
            .map_or_else(|| stamped(&self.study.name), str::to_owned);
        Writer::create(out, &name, self.plan.runs.len()).map(Target::Disk)
    }

    /// Prepares the hosts, opens the log, measures the machines' constants, and makes every run. When `stop` becomes
    /// true, the present run ends soon, and its measured data is kept.
    pub fn execute(
        self,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Executed, ExecuteError> {
        let (study, plan, destination) = (self.study, self.plan, self.destination);
        if let Some(mesh) = &study.mesh {
            let job = mesh::Job {
                study,
                mesh,
                plan,
                destination,
                command_line: &self.command_line,
            };
            return job.start(|| self.target(), stop, progress);
        }
        let mut prepared = destination.prepare(study, stop)?;
        prepared.try_profile(plan)?;
        destination.report_notes(study, &prepared, progress);
        let mut recorder = Recorder::new(self.target()?, &mut *progress);
        recorder.begin(study, plan, self.command_line)?;
        let place = destination.event(study, &prepared);
        recorder.record(&place)?;
        if self.measures_constants
            && let Some(event) = prepared.measure_constants()?
        {
            recorder.record(&event)?;
        }
        let mut plan = plan.clone();
        let allows = self.allows;
        let lab = destination.lab(study);
        recorder.search(&mut prepared, (study, &mut plan, lab), allows)?;
        let all = BTreeSet::new();
        let (mut executed, mut target) =
            recorder.execute(&mut prepared.session, (study, &plan), &all);
        if let (Ok(findings), Ok(Ending::Complete)) = (&mut executed.findings, &executed.ending) {
            let mut bench = Bench {
                facts: prepared.facts(),
                session: &mut prepared.session,
                target: &mut target,
                allows,
                progress,
                rounds: 0,
                last_ms: None,
                last: None,
            };
            executed.ending = match (look(&mut bench, findings), self.experiment) {
                (Ok(None), Some(experiment)) => experiment.make(&mut bench, findings, &place),
                (looked, _) => looked.map(|ending| ending.unwrap_or(Ending::Complete)),
            };
            findings.log = target.place()?;
        }
        Ok(executed)
    }
}
