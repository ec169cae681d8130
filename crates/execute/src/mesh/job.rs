//! A mesh that is executed: its hosts, and its log with all of its runs or those that are missing.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bitcost_controller::Ending;
use bitcost_model::event::{Event, FORMAT};
use bitcost_model::plan::Plan;
use bitcost_study::Study;
use bitcost_study::mesh::Mesh;

use super::ground::{Ground, Means};
use super::rounds;
use crate::destination::Destination;
use crate::error::ExecuteError;
use crate::logged::Logged;
use crate::machines::check_same;
use crate::programs::Programs;
use crate::progress::Progress;
use crate::recorder::{Executed, Recorder, Target};
use crate::store::Writer;

/// What containers may take more than three times the runs of a mesh.
const SPARE: Duration = Duration::from_secs(1800);

/// A mesh that is executed.
pub struct Job<'a> {
    /// The study.
    pub study: &'a Study,
    /// Its mesh.
    pub mesh: &'a Mesh,
    /// Its runs.
    pub plan: &'a Plan,
    /// How its hosts are reached.
    pub destination: &'a Destination,
    /// The command line, for the log.
    pub command_line: &'a [String],
}

impl Job<'_> {
    pub fn ground(
        &self,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Ground, ExecuteError> {
        possible(self.plan)?;
        self.destination.check(self.study)?;
        let programs = Arc::new(Programs::open(self.plan)?);
        let means = Means {
            destination: self.destination,
            programs,
            deadline: self.plan.total_time() * 3 + SPARE,
            ports: self.mesh.service_ports(self.plan),
        };
        Ground::open(self.study, self.mesh, &means, stop, progress)
    }

    /// All runs, in a new log.
    pub fn first(
        &self,
        ground: &mut Ground,
        target: Target,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Executed, ExecuteError> {
        let mut recorder = Recorder::new(target, progress);
        recorder.record(&Event::ExecutionBegan {
            format: FORMAT,
            bitcost_version: env!("CARGO_PKG_VERSION").to_owned(),
            at: bitcost_controller::now(),
            command_line: self.command_line.to_vec(),
            study: self.study.name.clone(),
            study_text: self.study.text.clone(),
            lab_text: self.study.lab_text.clone(),
        })?;
        let plan = self.plan.clone();
        recorder.record(&Event::Planned { plan })?;
        recorder.record(&ground.event(self.study, self.destination))?;
        Ok(self.made(ground, recorder, &BTreeSet::new(), stop))
    }

    /// The runs that a log lacks.
    pub fn rest(
        &self,
        ground: &mut Ground,
        logged: &Logged,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Executed, ExecuteError> {
        let Logged {
            folder, end, done, ..
        } = logged;
        let writer = Writer::resume(folder, end)?;
        if let Some(Event::Prepared {
            endpoints, hosts, ..
        }) = &logged.prepared
        {
            let now = ground.ends();
            for was in endpoints {
                match now.iter().find(|is| is.place == was.place) {
                    Some(is) => {
                        let (was, is) = (std::slice::from_ref(was), std::slice::from_ref(is));
                        check_same(was, is, hosts.is_some())?;
                    }
                    None => progress.message(&format!(
                        "{} is missing now; its runs have no result",
                        was.place
                    )),
                }
            }
        }
        progress.event(&Event::Planned {
            plan: self.plan.clone(),
        });
        progress.completed(done);
        let mut recorder = Recorder::new(Target::Disk(writer), progress)
            .after(logged.reader.clone(), end.caveats());
        recorder.record(&Event::Resumed {
            at: bitcost_controller::now(),
            command_line: self.command_line.to_vec(),
        })?;
        if logged.prepared.is_none() {
            recorder.record(&ground.event(self.study, self.destination))?;
        }
        Ok(self.made(ground, recorder, done, stop))
    }

    fn made(
        &self,
        ground: &mut Ground,
        recorder: Recorder,
        done: &BTreeSet<u32>,
        stop: &AtomicBool,
    ) -> Executed {
        recorder.watched(|sink, _: &RefCell<Recorder>| -> Result<Ending, _> {
            rounds::make(ground, (self.mesh, self.plan), done, stop, sink)
        })
    }
}

/// Refuses what the runs of a mesh cannot request.
fn possible(plan: &Plan) -> Result<(), ExecuteError> {
    let refused = plan.cells.iter().find_map(|cell| {
        let conditions = &cell.conditions;
        [
            (conditions.program.is_some(), "program"),
            (conditions.mode_auto, "mode = \"auto\""),
            (
                conditions.emulator_queue_limit.is_some(),
                "emulator_queue_limit",
            ),
            (conditions.path_change.is_some(), "path_change"),
            (conditions.moderation_us.is_some(), "moderation"),
        ]
        .into_iter()
        .find_map(|(is_there, name)| is_there.then_some(name))
    });
    refused.map_or(Ok(()), |name| {
        Err(ExecuteError::Usage(format!(
            "the runs of a mesh have no {name}; leave it out, or study two hosts"
        )))
    })
}
