//! The measurement of the machines' constants: one machine after the other.

use crate::world::*;

/// The time, the role and the CPU of each agent that was asked for constants.
fn asked(world: &World) -> Vec<(Duration, Role, Option<u32>)> {
    let heard = world.heard().into_iter();
    let asked = heard.filter_map(|(time, agent, message)| match message {
        ToAgent::Constants { cpu } => Some((time, agent.role, cpu)),
        _ => None,
    });
    asked.collect()
}

#[test]
fn one_machine_is_measured_once() {
    let world = World::honest();
    let mut session = world.session(Duration::ZERO).expect("both greet");
    for (role, cpu) in BOTH.into_iter().zip([2, 5]) {
        session.pair.endpoint(role).cpus = vec![cpu];
    }
    let machines = session.measure_constants(true).expect("measured");
    assert_eq!(machines.len(), 1);
    assert_eq!(machines[0].roles, BOTH);
    let asked = asked(&world);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].2, Some(2));
}

#[test]
fn two_machines_are_measured_one_after_the_other() {
    let world = World::honest();
    let mut session = world.session(Duration::ZERO).expect("both greet");
    let machines = session.measure_constants(false).expect("measured");
    let roles: Vec<Role> = machines.iter().flat_map(|one| one.roles.clone()).collect();
    assert_eq!(roles, BOTH);
    let asked = asked(&world);
    assert_eq!(asked.len(), 2);
    assert!(asked[1].0 - asked[0].0 >= Duration::from_secs(1));
}

#[test]
fn a_machine_that_cannot_be_measured_is_a_reason_and_runs_go_on() {
    let world = World::new(|heard| match heard.message {
        ToAgent::Constants { .. } if heard.role == Role::Sender => Act::Fail("no threads"),
        _ => Act::Answer,
    });
    let mut session = world.session(Duration::ZERO).expect("both greet");
    let machines = session.measure_constants(false).expect("goes on");
    assert!(machines[0].host.is_none() && machines[1].host.is_some());
    let absent = machines[0].absent.as_deref().unwrap_or_default();
    assert!(absent.contains("no threads"), "{absent}");
    let outcome = Outcome::of(&mut session, &plan(1, &[conditions()]), &Default::default());
    assert_eq!(outcome.ended(), [0]);
}

#[test]
fn the_user_can_stop_a_measurement() {
    let world = World::honest().stop_at(Duration::from_millis(300));
    let mut session = world.session(Duration::ZERO).expect("both greet");
    let stopped = session.measure_constants(true);
    assert!(matches!(stopped, Err(ControllerError::Stopped)));
}
