//! The runs that are made, their order, and the content of their events.

use crate::world::*;
use bitcost_controller::PathControl;
use bitcost_model::Unavailable;
use bitcost_model::conditions::Direction;
use bitcost_model::record::{CpuTicks, IdleBaseline, InEffect};

fn name(event: &Event) -> String {
    match event {
        Event::RunBegan { run, .. } => format!("begin {run}"),
        Event::Progress { run, role, .. } => format!("progress {run} {}", role.name()),
        Event::RunEnded { run, .. } => format!("end {run}"),
        Event::RunFailed { run, .. } => format!("fail {run}"),
        Event::ExecutionEnded { enough_blocks, .. } => format!("done {enough_blocks:?}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn runs_follow_the_plan() {
    let outcome = World::honest().execute(&plan(1, &[conditions(), conditions()]));
    let mut of_run = Vec::new();
    for run in 0..2 {
        of_run.push(format!("begin {run}"));
        of_run.push(format!("progress {run} sender"));
        of_run.push(format!("progress {run} receiver"));
        of_run.push(format!("end {run}"));
    }
    of_run.push("done None".to_owned());
    assert_eq!(outcome.events.iter().map(name).collect::<Vec<_>>(), of_run);
    assert_eq!(outcome.ending.expect("goes on"), Ending::Complete);
}

#[test]
fn runs_that_are_done_are_skipped() {
    let mut session = World::honest().session(Duration::ZERO).expect("both greet");
    let done = BTreeSet::from([0, 2, 3]);
    let outcome = Outcome::of(&mut session, &plan(3, &[conditions(), conditions()]), &done);
    assert_eq!(outcome.ended(), [1, 4, 5]);
}

#[test]
fn records_are_those_that_the_agents_declared() {
    for (direction, sends) in [(Direction::Forward, 0), (Direction::Reverse, 1)] {
        let conditions = Conditions {
            direction,
            ..conditions()
        };
        let outcome = World::honest().execute(&plan(1, &[conditions.clone(), conditions]));
        let Some(Event::RunEnded {
            run,
            sender,
            receiver,
            ..
        }) = outcome.events.iter().rev().nth(1)
        else {
            panic!("{:?}", outcome.events);
        };
        assert_eq!((sender.role, receiver.role), (Role::Sender, Role::Receiver));
        assert_eq!(sender.pinned_cpus, [*run, sends]);
        assert_eq!(receiver.pinned_cpus, [*run, 1 - sends]);
        assert_eq!(receiver.counts.measured.bytes, 1000);
    }
}

/// Executes nine blocks of these cells without the runs that are done until so many blocks are enough;
/// returns how many there were each time that the rule was asked, the number of runs, and the last event.
fn until(cells: &[Conditions], done: &[u32], least: u32) -> (Vec<u32>, usize, Option<String>) {
    let mut session = World::honest().session(Duration::ZERO).expect("both greet");
    let (mut asked, mut events) = (Vec::new(), Vec::new());
    let mut enough = |blocks: u32| {
        asked.push(blocks);
        Ok(blocks >= least)
    };
    let mut sink = |event| {
        events.push(event);
        Ok(())
    };
    let done: BTreeSet<u32> = done.iter().copied().collect();
    let ending = session.execute_until(&plan(9, cells), &done, &mut sink, &mut enough);
    let last = events.last().map(name);
    let outcome = Outcome { events, ending };
    let ended = outcome.ended().len();
    assert_eq!(outcome.ending.expect("goes on"), Ending::Complete);
    (asked, ended, last)
}

#[test]
fn stop_rule_is_asked_before_each_block() {
    let (asked, ended, last) = until(&[conditions(), conditions()], &[], 2);
    assert_eq!(asked, [0, 1, 2]);
    assert_eq!(ended, 4);
    assert_eq!(last.as_deref(), Some("done Some(2)"));
}

#[test]
fn missing_runs_of_blocks_with_results_are_made_whatever_is_enough() {
    let (asked, ended, last) = until(&[conditions()], &[0, 2, 4], 0);
    assert_eq!(asked, [5]);
    assert_eq!(ended, 2);
    assert_eq!(last.as_deref(), Some("done Some(5)"));
}

#[test]
fn error_of_the_stop_rule_ends_the_execution() {
    let mut session = World::honest().session(Duration::ZERO).expect("both greet");
    let mut fails = |_| Err(Unavailable("the log cannot be read".to_owned()));
    let plan = plan(1, &[conditions()]);
    let ending = session.execute_until(&plan, &BTreeSet::new(), &mut |_| Ok(()), &mut fails);
    assert_eq!(
        ending.expect_err("is passed on").to_string(),
        "the log cannot be read"
    );
}

#[test]
fn sink_that_refuses_an_event_ends_the_execution() {
    for refused in ["begin 0", "progress 0 sender", "end 0", "done None"] {
        let mut session = World::honest().session(Duration::ZERO).expect("both greet");
        let mut sink = |event: Event| match name(&event) == refused {
            true => Err(Unavailable("the disk is full".to_owned())),
            false => Ok(()),
        };
        let ending = session.execute(&plan(1, &[conditions()]), &BTreeSet::new(), &mut sink);
        let error = ending.expect_err("is passed on");
        assert!(
            matches!(error, ControllerError::Sink(_)),
            "{refused}: {error}"
        );
    }
}

#[test]
fn idle_hosts_are_measured_once_per_block_at_the_same_time() {
    let world = World::honest();
    let idle = Conditions {
        idle_baseline_ms: Some(700),
        ..Conditions::default()
    };
    let outcome = world.execute(&plan(2, &[idle.clone(), idle]));
    assert_eq!(outcome.ended(), [0, 1, 2, 3]);
    let heard = world.heard();
    let asked: Vec<_> = heard
        .iter()
        .filter(|(_, _, message)| matches!(message, ToAgent::Idle { length_ms: 700 }))
        .collect();
    let roles: Vec<Role> = asked.iter().map(|(_, agent, _)| agent.role).collect();
    assert_eq!(roles, [BOTH, BOTH].concat());
    assert_eq!((asked[0].0, asked[2].0), (asked[1].0, asked[3].0));
    for event in &outcome.events {
        if let Event::RunEnded {
            sender, receiver, ..
        } = event
        {
            let lengths =
                [sender, receiver].map(|record| record.idle.as_ref().map(|idle| idle.end_ns));
            assert_eq!(lengths, [Some(700_000_000); 2]);
        }
    }
}

/// An idle measurement of 100 ticks, of which `busy` were not idle.
fn busy_for(busy: u64) -> Act {
    let ticks = CpuTicks {
        user: busy,
        idle: 100 - busy,
        ..CpuTicks::default()
    };
    Act::Say(FromAgent::Idle(Box::new(IdleBaseline {
        end_ns: 1_000_000_000,
        start: vec![CpuTicks::default()],
        end: vec![ticks],
        ..IdleBaseline::default()
    })))
}

/// The shares of time in which the sender's host was busy in the baselines of a block's run, and the
/// number of measurements, where it is busy for these percentages one after the other.
fn baseline(percentages: &'static [u64]) -> (Option<f64>, usize) {
    let mut left = percentages.iter();
    let world = World::new(move |heard| match (heard.role, heard.message) {
        (Role::Sender, ToAgent::Idle { .. }) => {
            left.next().map_or(Act::Answer, |busy| busy_for(*busy))
        }
        _ => Act::Answer,
    });
    let measured = Conditions {
        idle_baseline_ms: Some(1000),
        ..conditions()
    };
    let outcome = world.execute(&plan(1, &[measured]));
    let share = outcome.events.iter().find_map(|event| match event {
        Event::RunEnded { sender, .. } => sender.idle.as_ref()?.busy_share(),
        _ => None,
    });
    let heard = world.heard();
    let asked = heard.iter().filter(|(_, agent, message)| {
        agent.role == Role::Sender && matches!(message, ToAgent::Idle { .. })
    });
    (share, asked.count())
}

#[test]
fn busy_hosts_are_measured_again_and_the_quietest_baseline_counts() {
    assert_eq!(baseline(&[5]), (Some(0.05), 1));
    assert_eq!(baseline(&[40, 3]), (Some(0.03), 2));
    assert_eq!(baseline(&[40, 20, 30]), (Some(0.2), 3));
}

/// A path whose queue cannot be set for messages of 1 byte.
struct OneQueue;

impl PathControl for OneQueue {
    fn set(&mut self, conditions: &Conditions) -> Result<Vec<InEffect>, Unavailable> {
        if conditions.message_size_bytes == 1 {
            return Err(Unavailable("the queue cannot be set".to_owned()));
        }
        Ok(vec![InEffect {
            name: "queue_packets".to_owned(),
            requested: None,
            actual: None,
        }])
    }
}

#[test]
fn network_is_set_before_each_run_and_recorded() {
    let mut session = World::honest().session(Duration::ZERO).expect("both greet");
    session.path = Some(Box::new(OneQueue));
    let bad = Conditions {
        message_size_bytes: 1,
        ..conditions()
    };
    let outcome = Outcome::of(
        &mut session,
        &plan(1, &[bad, conditions()]),
        &BTreeSet::new(),
    );
    assert_eq!(
        outcome.failure(),
        (0, FailureKind::Failed, "the queue cannot be set")
    );
    let in_effect = outcome.events.iter().find_map(|event| match event {
        Event::RunEnded { sender, .. } => Some(sender.in_effect.len()),
        _ => None,
    });
    assert_eq!(in_effect, Some(1));
}

#[test]
fn user_stops_the_execution_during_a_run() {
    let world = World::honest().stop_at(Duration::from_secs(5));
    let outcome = world.execute(&plan(9, &[conditions()]));
    assert_eq!(outcome.ending.as_ref().ok(), Some(&Ending::Interrupted));
    assert_eq!(
        outcome.failed().last().map(|(_, kind, _)| *kind),
        Some(FailureKind::Interrupted)
    );
    assert_eq!(outcome.ended(), [0, 1]);
    assert!(world.now() < Duration::from_millis(5100));
}

#[test]
fn user_stops_an_agent_that_does_not_greet() {
    let world = World::new(|heard| match heard.message {
        ToAgent::Hello { .. } => Act::Ignore,
        _ => Act::Answer,
    });
    let world = world.stop_at(Duration::from_secs(2));
    let error = world.session(Duration::ZERO).err().expect("is stopped");
    assert!(matches!(error, ControllerError::Stopped), "{error}");
}
