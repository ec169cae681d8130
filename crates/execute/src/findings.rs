//! What a log on the disk says, read once.

use std::path::Path;
use std::rc::Rc;

use bitcost_analysis::findings::Findings;
use bitcost_analysis::improve::{self, Step};
use bitcost_analysis::log::Reader;
use bitcost_analysis::prove;
use bitcost_model::event::Events;

use crate::error::ExecuteError;
use crate::store::{Damaged, End, LOG_NAME, LogFile};

/// The folder, in that of a test, of the log of the experiments on its verdict; the log of their second stage is in
/// `prove-2`.
pub const PROOF: &str = "prove";

/// Reads the log in a folder once, and the logs of experiments on its verdict in it. Returns also how it ends.
///
/// # Errors
/// Usage, when there is no log, or it cannot be read or verified; within, when it holds no study or
/// no plan, or its events contradict each other.
pub fn read(
    folder: &Path,
    damaged: Damaged,
) -> Result<(Result<Findings, ExecuteError>, End), ExecuteError> {
    let mut log = LogFile::open(folder, damaged)?;
    let mut reader = Reader::default();
    let end = log.read(&mut |place, event| reader.take(place, &event))?;
    let mut found = of_log(log, end.caveats(), reader);
    if let Ok(found) = &mut found {
        add_proof(found, folder, damaged);
        add_ladder(found, folder, damaged);
    }
    Ok((found, end))
}

/// Adds what the logs of experiments in a test's folder show; one that cannot be read is a caveat.
fn add_proof(found: &mut Findings, folder: &Path, damaged: Damaged) {
    let stages = [PROOF.to_owned(), format!("{PROOF}-2")];
    let stages = stages
        .iter()
        .filter_map(|stage| inner(folder, stage, damaged));
    let stages: Result<Vec<Findings>, ExecuteError> = stages.collect();
    match stages {
        Ok(stages) if stages.is_empty() => {}
        Ok(stages) => prove::apply(found, &stages, None),
        Err(error) => {
            let caveat =
                format!("the log of the experiments on the verdict cannot be read: {error}");
            found.summary.caveats.push(caveat);
        }
    }
}

/// What the log in this folder of an execution's folder says; absent where there is none.
fn inner(folder: &Path, name: &str, damaged: Damaged) -> Option<Result<Findings, ExecuteError>> {
    let folder = folder.join(name);
    let is_there = folder.join(LOG_NAME).is_file();
    is_there.then(|| read(&folder, damaged)?.0)
}

/// The most steps of a ladder, and rounds of a step, that are read.
const STEPS_MOST: usize = 100;

/// The folder, in that of a test, of the log of the test of a later step of `bitcost improve`.
pub fn step_folder(step: usize) -> String {
    format!("step-{step}")
}

/// The folder, in that of a test, of the log of a round of a step, from 1.
pub fn round_folder(step: usize, round: usize) -> String {
    format!("round-{step}-{round}")
}

/// Adds the ladder of the steps in a test's folder; one that cannot be read ends it, with a caveat.
fn add_ladder(found: &mut Findings, folder: &Path, damaged: Damaged) {
    let read_log = |name: String| inner(folder, &name, damaged);
    let mut steps = Vec::new();
    for step in 0..STEPS_MOST {
        let test = (step > 0).then(|| read_log(step_folder(step))).flatten();
        let rounds = (1..STEPS_MOST).map_while(|round| read_log(round_folder(step, round)));
        let rounds: Result<Vec<Findings>, ExecuteError> = rounds.collect();
        match (test.transpose(), rounds) {
            (Ok(None), Ok(rounds)) if rounds.is_empty() => break,
            (Ok(None), Ok(_)) if step > 0 => break,
            (Ok(test), Ok(rounds)) => steps.push(Step { test, rounds }),
            (Err(error), _) | (_, Err(error)) => {
                let caveat = format!("the log of step {step} cannot be read: {error}");
                found.summary.caveats.push(caveat);
                break;
            }
        }
    }
    if !steps.is_empty() {
        improve::apply(found, &steps, &[]);
    }
}

/// What a reader took of a log with these caveats.
pub(crate) fn of_log(
    log: LogFile,
    mut caveats: Vec<String>,
    reader: Reader,
) -> Result<Findings, ExecuteError> {
    let folder = log.folder().to_owned();
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    let name = whole.file_name().unwrap_or(whole.as_os_str());
    let name = name.to_string_lossy().into_owned();
    let place = log.place();
    let found = Findings::of(name, Events::Stored(Rc::new(log)), reader);
    let mut found =
        found.map_err(|error| ExecuteError::Usage(format!("{}: {error}", folder.display())))?;
    caveats.append(&mut found.summary.caveats);
    found.summary.caveats = caveats;
    found.log = Some(place);
    Ok(found)
}
