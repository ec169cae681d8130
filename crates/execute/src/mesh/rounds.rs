//! The runs of a mesh, group by group: one after the other, or those of a group at once.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use bitcost_controller::{ControllerError, Ending, Sink, now};
use bitcost_model::Unavailable;
use bitcost_model::event::{Event, FailureKind};
use bitcost_model::plan::{Plan, PlannedRun};
use bitcost_study::mesh::Mesh;

use super::ground::Ground;

struct Run<'a> {
    planned: &'a PlannedRun,
    hosts: [usize; 2],
}

/// Makes the runs that are not in `done`.
///
/// # Errors
/// When the sink refuses an event. A run that fails is an event, not an error.
pub fn make(
    ground: &mut Ground,
    (mesh, plan): (&Mesh, &Plan),
    done: &BTreeSet<u32>,
    stop: &AtomicBool,
    sink: &mut Sink,
) -> Result<Ending, ControllerError> {
    let mut at = 0;
    for length in mesh.group_lengths(plan) {
        let group = &plan.runs[at..at + length];
        at += length;
        let missing = group.iter().filter(|run| !done.contains(&run.index));
        let runs: Vec<Run> = missing
            .filter_map(|planned| {
                let levels = &plan.cells[planned.cell].levels;
                let place = |index: usize| mesh.place(&levels.get(index)?.1);
                let hosts = [place(0)?, place(1)?];
                Some(Run { planned, hosts })
            })
            .collect();
        let at_once = if mesh.is_concurrent {
            runs.len().max(1)
        } else {
            1
        };
        for some in runs.chunks(at_once) {
            if stop.load(Ordering::Relaxed)
                || together(ground, plan, some, stop, sink)? == Ending::Interrupted
            {
                return Ok(Ending::Interrupted);
            }
        }
    }
    let ended = Event::ExecutionEnded {
        at: now(),
        enough_blocks: None,
    };
    sink(ended)?;
    Ok(Ending::Complete)
}

fn together(
    ground: &mut Ground,
    plan: &Plan,
    runs: &[Run],
    stop: &AtomicBool,
    sink: &mut Sink,
) -> Result<Ending, ControllerError> {
    let hosts: Vec<usize> = runs.iter().flat_map(|run| run.hosts).collect();
    ground.start(&hosts, stop);
    let shared = &*ground;
    match runs {
        [one] => made(shared, plan, one, stop, sink),
        several => std::thread::scope(|scope| {
            let (events, inbox) = mpsc::channel();
            let threads: Vec<_> = several
                .iter()
                .map(|run| {
                    let events = events.clone();
                    let mut pass = move |event| {
                        let sent = events.send(event);
                        sent.map_err(|_| Unavailable("nobody listens".to_owned()))
                    };
                    scope.spawn(move || made(shared, plan, run, stop, &mut pass))
                })
                .collect();
            drop(events);
            inbox.into_iter().try_for_each(&mut *sink)?;
            let endings = threads.into_iter().filter_map(|thread| thread.join().ok());
            endings
                .into_iter()
                .try_fold(Ending::Complete, |all, ending| match ending? {
                    Ending::Interrupted => Ok(Ending::Interrupted),
                    Ending::Complete => Ok(all),
                })
        }),
    }
}

fn made(
    ground: &Ground,
    plan: &Plan,
    run: &Run,
    stop: &AtomicBool,
    sink: &mut Sink,
) -> Result<Ending, ControllerError> {
    let PlannedRun { index, block, cell } = *run.planned;
    let [from, to] = run.hosts.map(|host| ground.place(host));
    let mut alone = Plan::of_one(plan.cells[cell].conditions.clone());
    (alone.runs[0].index, alone.runs[0].block) = (index, block);
    let mut pass = |event| match event {
        Event::ExecutionEnded { .. } => Ok(()),
        Event::RunFailed { run, kind, reason } => {
            let reason = format!("from {from} to {to}: {reason}");
            sink(Event::RunFailed { run, kind, reason })
        }
        event => sink(event),
    };
    let opened = ground
        .pool
        .session(run.hosts, ground.ends_of(run.hosts), stop);
    let opened = opened.map_err(|error| match error {
        ControllerError::Stopped => None,
        error => Some(error.to_string()),
    });
    let opened = opened.and_then(|mut session| {
        let connected = ground.connect(&mut session, run.hosts);
        connected.map_err(|error| Some(error.to_string()))?;
        Ok(session)
    });
    let reason = match opened {
        Ok(mut session) => {
            let ending = session.execute(&alone, &BTreeSet::new(), &mut pass)?;
            // An agent that does not become idle is ended, and started again before its next run.
            let _ = session.settle(&mut pass);
            return Ok(ending);
        }
        Err(reason) => reason.filter(|_| !stop.load(Ordering::Relaxed)),
    };
    let Some(reason) = reason else {
        return Ok(Ending::Interrupted);
    };
    let failed = Event::RunFailed {
        run: index,
        kind: FailureKind::Lost,
        reason,
    };
    let began = Event::RunBegan {
        run: index,
        at: now(),
    };
    [began, failed].into_iter().try_for_each(pass)?;
    Ok(Ending::Complete)
}
