//! The second stage of a mesh: all pairs of the suspects and as many other hosts.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use bitcost_controller::Ending;
use bitcost_model::plan::{Lengths, Plan};
use bitcost_study::Study;
use bitcost_study::mesh::{Pattern, with_pairs};

use super::ground::Ground;
use super::job::Job;
use crate::destination::Destination;
use crate::error::ExecuteError;
use crate::findings::SUSPECTS;
use crate::logged::Logged;
use crate::progress::Progress;
use crate::recorder::{Executed, Target};
use crate::store::{LOG_NAME, Writer};

/// How often the second stage measures each pair: a pair is named by the best of its runs, and one in some is disturbed.
const BLOCKS: u32 = 2;

/// Makes the second stage where the first one is complete and has suspects.
pub fn follow(
    job: &Job,
    ground: &mut Ground,
    mut executed: Executed,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Executed, ExecuteError> {
    let is_whole = matches!(executed.ending, Ok(Ending::Complete));
    let (Some(folder), Ok(findings)) = (executed.folder.clone(), &mut executed.findings) else {
        return Ok(executed);
    };
    if !is_whole || job.mesh.pattern != Pattern::Screen {
        return Ok(executed);
    }
    let Some(pairs) = findings
        .mesh
        .as_ref()
        .and_then(|found| found.pairs_to_follow(job.plan.seed))
    else {
        return Ok(executed);
    };
    progress.message(&format!("second stage: between {}", pairs.hosts.join(", ")));
    let second = second(job, ground, &folder, &pairs.lines, stop, progress)?;
    executed.ending = second.ending;
    findings.add_second_stage(&second.findings?);
    Ok(executed)
}

/// The second stage, from its first run or from where its log ends.
fn second(
    job: &Job,
    ground: &mut Ground,
    folder: &Path,
    pairs: &str,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Executed, ExecuteError> {
    let own = folder.join(SUSPECTS);
    let logged = own
        .join(LOG_NAME)
        .is_file()
        .then(|| Logged::read(&own))
        .transpose()?;
    if let Some(logged) = &logged {
        let job = of(job, &logged.study, &logged.plan, job.destination)?;
        return job.rest(ground, logged, stop, progress);
    }
    let text = with_pairs(&job.study.text, pairs)?;
    let study = Study::parse_with(&job.study.file, &text, job.study.lab_text.as_deref());
    let mut study = study.map_err(|error| ExecuteError::Usage(error.to_string()))?;
    study.name.clone_from(&job.study.name);
    study.lab = job.study.lab.clone();
    let lengths = Lengths {
        blocks: Some(BLOCKS),
        ..job.plan.lengths.unwrap_or_default()
    };
    let plan = study.plan(job.plan.seed, lengths);
    let target = Target::Disk(Writer::create(folder, SUSPECTS, plan.runs.len())?);
    of(job, &study, &plan, job.destination)?.first(ground, target, stop, progress)
}

/// The second stage as a job.
fn of<'a>(
    job: &'a Job,
    study: &'a Study,
    plan: &'a Plan,
    destination: &'a Destination,
) -> Result<Job<'a>, ExecuteError> {
    let mesh = study.mesh.as_ref();
    let mesh = mesh
        .ok_or_else(|| ExecuteError::Usage("the log of the second stage has no mesh".to_owned()))?;
    Ok(Job {
        study,
        mesh,
        plan,
        destination,
        command_line: job.command_line,
    })
}
