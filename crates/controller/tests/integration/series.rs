//! Blocks at an interval: when they begin, what agents do meanwhile, and how the series ends.

use std::time::Duration;

use bitcost_controller::Ending;
use bitcost_model::event::{Event, FailureKind};
use bitcost_model::plan::{Lengths, Plan};
use bitcost_model::protocol::ToAgent;
use bitcost_model::record::Role;

use crate::world::{Act, Outcome, World, conditions, plan};

const PATIENCE: Duration = Duration::from_secs(30);

/// Runs every five minutes; without a number of blocks until the user stops them.
fn series(blocks: Option<u32>) -> Plan {
    Plan {
        lengths: Some(Lengths {
            blocks,
            interval_ms: Some(300_000),
            ..Lengths::default()
        }),
        ..plan(blocks.unwrap_or(100), &[conditions()])
    }
}

/// The times at which runs were prepared at the sender, in whole seconds.
fn prepared(world: &World) -> Vec<u64> {
    let heard = world.heard();
    let runs = heard.iter().filter(|(_, agent, message)| {
        agent.role == Role::Sender && matches!(message, ToAgent::Prepare(_))
    });
    runs.map(|(at, _, _)| at.as_secs()).collect()
}

fn enough(outcome: &Outcome) -> Option<u32> {
    match outcome.events.last() {
        Some(Event::ExecutionEnded { enough_blocks, .. }) => *enough_blocks,
        _ => None,
    }
}

/// The scripted agents would end if their leases expired.
#[test]
fn blocks_begin_at_the_interval_with_the_same_agents() {
    let world = World::honest();
    let outcome = world.execute(&series(Some(3)));
    assert_eq!(outcome.ending.as_ref().ok(), Some(&Ending::Complete));
    assert_eq!(outcome.ended(), [0, 1, 2]);
    assert_eq!(prepared(&world), [0, 300, 600]);
    assert_eq!(world.started().len(), 2);
}

#[test]
fn user_ends_a_series_without_an_end_while_it_waits() {
    let world = World::honest().stop_at(Duration::from_secs(700));
    let outcome = world.execute(&series(None));
    assert_eq!(outcome.ending.as_ref().ok(), Some(&Ending::Complete));
    assert_eq!(
        (outcome.ended(), enough(&outcome)),
        (vec![0, 1, 2], Some(3))
    );
    assert!(world.now() < Duration::from_millis(700_200), "at once");
}

#[test]
fn series_with_a_number_of_blocks_is_interrupted() {
    let world = World::honest().stop_at(Duration::from_secs(400));
    let outcome = world.execute(&series(Some(9)));
    assert_eq!(outcome.ending.as_ref().ok(), Some(&Ending::Interrupted));
    assert_eq!((outcome.ended(), enough(&outcome)), (vec![0, 1], None));
}

/// The receiver dies in the second run and is out of reach for longer than the controller has
/// patience: that run and the next are lost, the fourth is made.
#[test]
fn host_that_is_away_costs_its_runs_alone() {
    let world = World::new(|heard| match (heard.role, heard.run, heard.message) {
        (Role::Receiver, Some(1), ToAgent::Start(_)) => Act::Die("ssh has no connection to web"),
        _ => Act::Answer,
    });
    let world = world.on_start(|role, earlier| match role {
        Role::Receiver if (1..40).contains(&earlier) => Err("no route to host".to_owned()),
        _ => Ok(()),
    });
    let outcome = world.execute_with(&series(Some(5)), PATIENCE);
    assert_eq!(outcome.ending.as_ref().ok(), Some(&Ending::Complete));
    assert_eq!(outcome.ended(), [0, 3, 4]);
    let failed = outcome.failed();
    assert_eq!(failed.len(), 2);
    assert_eq!((failed[1].0, failed[1].1), (2, FailureKind::Lost));
    assert_eq!(
        failed[1].2,
        "receiver agent at host-receiver: no route to host"
    );
}

/// A host of this machine that cannot be started again does not come back.
#[test]
fn lost_lab_ends_the_series() {
    let world = World::new(|heard| match (heard.run, heard.message) {
        (Some(1), ToAgent::Start(_)) => Act::Die("it ended with signal: 9 (SIGKILL)"),
        _ => Act::Answer,
    });
    let world = world.on_start(|_, earlier| match earlier {
        0 => Ok(()),
        _ => Err("the lab is gone".to_owned()),
    });
    let outcome = world.execute(&series(Some(5)));
    assert!(outcome.ending.is_err());
    assert_eq!((outcome.ended(), outcome.failed().len()), (vec![0], 1));
}

#[test]
fn agents_leave_hosts_that_others_wait_for() {
    let world = World::honest();
    let mut session = world.session(PATIENCE).expect("both greet");
    session.endpoint(Role::Receiver).is_shared = true;
    let outcome = Outcome::of(&mut session, &series(Some(3)), &Default::default());
    assert_eq!(outcome.ended(), [0, 1, 2]);
    let started = world.started();
    let at = |role| {
        let of_role = started.iter().filter(move |start| start.1 == role);
        of_role.map(|start| start.0.as_secs()).collect::<Vec<_>>()
    };
    assert_eq!(at(Role::Sender), [0]);
    assert_eq!(at(Role::Receiver), [0, 300, 600]);
}
