//! Restarts of lost agents: how often, for how long, and what is reported meanwhile.

use crate::world::*;

const PATIENCE: Duration = Duration::from_secs(30);

/// The receiver's connection breaks in the second run; attempts to restart it are refused until
/// `attempts` were made.
fn cut_off(attempts: usize) -> World {
    let world = World::new(|heard| match (heard.role, heard.run, heard.message) {
        (Role::Receiver, Some(1), ToAgent::Start(_)) => Act::Die("ssh has no connection to web"),
        _ => Act::Answer,
    });
    world.on_start(move |role, earlier| match role {
        Role::Receiver if earlier > 0 && earlier <= attempts / 2 => {
            Err("no route to host".to_owned())
        }
        Role::Receiver if earlier > 0 && earlier <= attempts => {
            Err("connection refused".to_owned())
        }
        _ => Ok(()),
    })
}

fn reconnecting(outcome: &Outcome) -> Vec<&str> {
    let reasons = outcome.events.iter().filter_map(|event| match event {
        Event::Reconnecting { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    reasons.collect()
}

#[test]
fn lost_agent_is_started_again_each_second() {
    let world = cut_off(6);
    let outcome = world.execute_with(&plan(3, &[conditions()]), PATIENCE);
    assert_eq!(outcome.ended(), [0, 2]);
    let (run, kind, reason) = outcome.failure();
    assert_eq!((run, kind), (1, FailureKind::Lost));
    assert_eq!(
        reason,
        "receiver agent is gone: ssh has no connection to web"
    );
    assert_eq!(
        reconnecting(&outcome),
        ["no route to host", "connection refused"]
    );
    let times: Vec<Duration> = world.started()[2..].iter().map(|start| start.0).collect();
    assert_eq!(times.len(), 7);
    let is_second = |pair: &[Duration]| pair[1] - pair[0] == Duration::from_secs(1);
    assert!(times.windows(2).all(is_second), "{times:?}");
}

#[test]
fn patience_ends() {
    let world = cut_off(1000);
    let outcome = world.execute_with(&plan(3, &[conditions()]), PATIENCE);
    let error = outcome
        .ending
        .as_ref()
        .expect_err("is given up")
        .to_string();
    assert_eq!(error, "receiver agent at host-receiver: no route to host");
    let tried = world.started().len() - 2;
    assert!((30..=32).contains(&tried), "{tried} attempts in 30 s");
}

#[test]
fn without_patience_there_is_one_attempt() {
    let world = cut_off(1000);
    let outcome = world.execute(&plan(3, &[conditions()]));
    assert!(outcome.ending.is_err());
    assert_eq!(outcome.failure().1, FailureKind::Failed);
    assert_eq!(
        (world.started().len(), reconnecting(&outcome).len()),
        (3, 0)
    );
}

#[test]
fn user_stops_while_a_host_is_out_of_reach() {
    let world = cut_off(1000).stop_at(Duration::from_secs(12));
    let outcome = world.execute_with(&plan(3, &[conditions()]), PATIENCE);
    assert_eq!(outcome.ending.as_ref().ok(), Some(&Ending::Interrupted));
    assert!(world.now() < Duration::from_millis(12_200));
}
