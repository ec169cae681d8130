//! A mesh on its hosts: agents that are kept over all runs, and the runs round by round, all of them or those that a log
//! lacks.

mod ground;
mod job;
mod rounds;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use bitcost_model::event::Event;

use self::ground::Ground;
pub use self::job::Job;
use crate::error::ExecuteError;
use crate::logged::Logged;
use crate::machines::check_same;
use crate::progress::Progress;
use crate::recorder::{Executed, Recorder};
use crate::store::{StoreError, Writer};
use crate::target::Target;

impl Job<'_> {
    /// Makes all runs, in a new log.
    pub fn start(
        &self,
        target: impl FnOnce() -> Result<Target, StoreError>,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Executed, ExecuteError> {
        let mut ground = Ground::open(self, stop, progress)?;
        let mut recorder = Recorder::new(target()?, progress);
        recorder.begin(self.study, self.plan, self.command_line.to_vec())?;
        recorder.record(&ground.event(self.study, self.destination))?;
        Ok(self.made(&mut ground, recorder, &BTreeSet::new(), stop))
    }

    /// Makes the runs that a log lacks.
    pub fn resume(
        &self,
        logged: &Logged,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Executed, ExecuteError> {
        let mut ground = Ground::open(self, stop, progress)?;
        let writer = Writer::resume(&logged.folder, &logged.end)?;
        if let Some(Event::Prepared {
            endpoints, hosts, ..
        }) = &logged.prepared
        {
            let now = ground.ends();
            for was in endpoints {
                let Some(is) = now.iter().find(|is| is.place == was.place) else {
                    let place = &was.place;
                    progress.message(&format!("{place} is missing now; its runs have no result"));
                    continue;
                };
                let (was, is) = (std::slice::from_ref(was), std::slice::from_ref(is));
                check_same(was, is, hosts.is_some())?;
            }
        }
        let mut recorder = Recorder::resumed(writer, logged, self.command_line.to_vec(), progress)?;
        if logged.prepared.is_none() {
            recorder.record(&ground.event(self.study, self.destination))?;
        }
        Ok(self.made(&mut ground, recorder, &logged.done, stop))
    }

    fn made(
        &self,
        ground: &mut Ground,
        recorder: Recorder,
        done: &BTreeSet<u32>,
        stop: &AtomicBool,
    ) -> Executed {
        let watched = recorder
            .watched(|sink, _| rounds::make(ground, (self.mesh, self.plan), done, stop, sink));
        watched.0
    }
}
