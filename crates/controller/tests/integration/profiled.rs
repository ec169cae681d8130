//! Runs that are made once more to be profiled.

use crate::world::*;
use bitcost_model::plan::Plan;

/// Two blocks of two cells, profiled.
fn profiled() -> Plan {
    Plan {
        is_profiled: true,
        ..plan(2, &[conditions(), conditions()])
    }
}

fn execute(world: &World, is_one_machine: bool) -> Outcome {
    let mut session = world.session(Duration::ZERO).expect("both agents greet");
    session.try_profile(is_one_machine).expect("allowed");
    Outcome::of(&mut session, &profiled(), &BTreeSet::new())
}

/// Which agents were asked to sample, for each run that was prepared at the sender.
fn asked(world: &World, role: Role) -> Vec<bool> {
    let heard = world.heard();
    let prepared = heard
        .iter()
        .filter_map(|(_, agent, message)| match message {
            ToAgent::Prepare(prepare) if agent.role == role => Some(prepare.is_profiled),
            _ => None,
        });
    prepared.collect()
}

#[test]
fn each_run_has_a_twin_that_is_none_of_the_results() {
    let world = World::honest();
    let outcome = execute(&world, true);
    assert_eq!(outcome.ended(), [0, 1, 2, 3]);
    let twin = |event: &Event| match event {
        Event::RunProfiled { run, .. } => Some(*run),
        _ => None,
    };
    let twins: Vec<u32> = outcome.events.iter().filter_map(twin).collect();
    assert_eq!(twins, [0, 1, 2, 3]);
    let began = outcome
        .events
        .iter()
        .filter(|event| matches!(event, Event::RunBegan { .. }));
    assert_eq!(began.count(), 4);
    let of_sender = asked(&world, Role::Sender);
    assert_eq!(of_sender.len(), 8);
    assert_eq!(of_sender.iter().filter(|is| **is).count(), 4);
    // One machine is sampled once.
    assert_eq!(asked(&world, Role::Receiver), [false; 8]);
}

#[test]
fn each_of_two_machines_is_sampled() {
    let world = World::honest();
    execute(&world, false);
    assert_eq!(asked(&world, Role::Sender), asked(&world, Role::Receiver));
}

#[test]
fn a_twin_that_fails_leaves_the_results() {
    let world = World::new(|heard| match heard.message {
        ToAgent::Prepare(prepare) if prepare.is_profiled => Act::Fail("no samples"),
        _ => Act::Answer,
    });
    let outcome = execute(&world, true);
    assert_eq!(
        (outcome.ended(), outcome.failed().len()),
        (vec![0, 1, 2, 3], 0)
    );
    let reasons = outcome.events.iter().filter_map(|event| match event {
        Event::RunNotProfiled { reason, .. } => Some(reason.contains("no samples")),
        _ => None,
    });
    assert_eq!(reasons.collect::<Vec<_>>(), [true; 4]);
}

#[test]
fn a_host_that_cannot_be_sampled_is_named_before_the_first_run() {
    let world = World::new(|heard| match (heard.role, heard.message) {
        (Role::Receiver, ToAgent::TryProfile) => Act::Fail("not permitted"),
        _ => Act::Answer,
    });
    let mut session = world.session(Duration::ZERO).expect("both agents greet");
    let error = session.try_profile(false).expect_err("refused");
    let text = error.to_string();
    assert!(text.contains("host-receiver") && text.contains("not permitted"));
}
