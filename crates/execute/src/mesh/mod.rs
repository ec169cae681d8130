//! A mesh on its hosts: agents that are kept over all runs, the runs round by round, and a second stage
//! among the suspects.

mod follow;
mod ground;
mod job;
mod rounds;

use std::sync::atomic::AtomicBool;

use bitcost_study::mesh::Mesh;

use crate::destination::Destination;
use crate::error::ExecuteError;
use crate::logged::Logged;
use crate::progress::Progress;
use crate::recorder::{Executed, Target};
use crate::store::StoreError;

pub use job::Job;

/// Executes a mesh from its first run.
///
/// # Errors
/// When fewer than two hosts have an agent, or the log cannot be written.
pub fn start(
    job: &Job,
    target: impl FnOnce() -> Result<Target, StoreError>,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Executed, ExecuteError> {
    let mut ground = job.ground(stop, progress)?;
    let executed = job.first(&mut ground, target()?, stop, progress)?;
    follow::follow(job, &mut ground, executed, stop, progress)
}

/// Makes the missing runs of a mesh.
///
/// # Errors
/// As [`start`], and when a host is not the one of the execution.
pub(crate) fn resume(
    logged: &Logged,
    mesh: &Mesh,
    (destination, command_line): (&Destination, &[String]),
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Executed, ExecuteError> {
    let job = Job {
        study: &logged.study,
        mesh,
        plan: &logged.plan,
        destination,
        command_line,
    };
    let mut ground = job.ground(stop, progress)?;
    let executed = job.rest(&mut ground, logged, stop, progress)?;
    follow::follow(&job, &mut ground, executed, stop, progress)
}
