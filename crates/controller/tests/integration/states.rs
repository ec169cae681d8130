//! Runs in another state of the machine than the study's: when they are repeated, and when not.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bitcost_controller::{Ending, StateLimits};
use bitcost_model::counters::{CoreToCore, CpuSpeed};
use bitcost_model::event::{Event, Repeats};
use bitcost_model::machine_state::{DistanceState, MachineState};
use bitcost_model::plan::Plan;
use bitcost_model::protocol::{FromAgent, ToAgent};
use bitcost_model::record::{EndpointRecord, Role};

use crate::world::{Act, Outcome, World, conditions, plan};

const NEAR_NS: u32 = 44;
const FAR_NS: u32 = 370;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// A machine whose hypervisor has the endpoints' CPUs far from each other at these times.
fn machine(is_far: impl Fn(Duration) -> bool + 'static) -> World {
    let trip = move |at| if is_far(at) { FAR_NS } else { NEAR_NS };
    let before = Cell::new(NEAR_NS);
    World::new(move |heard| match (heard.role, heard.message) {
        (Role::Sender, ToAgent::Distance { cpus: [0, 1] }) => Act::Say(FromAgent::Distance {
            round_trip_ns: Some(trip(heard.at)),
        }),
        (Role::Sender, ToAgent::Start(_)) => {
            before.set(trip(heard.at));
            Act::Answer
        }
        (Role::Sender, ToAgent::Finish { .. }) => {
            let after = trip(heard.at);
            Act::Say(FromAgent::Done(Box::new(EndpointRecord {
                role: Role::Sender,
                core_to_core: Some(CoreToCore {
                    cpus: [0, 1],
                    round_trip_ns: vec![before.get(), before.get(), after, after],
                }),
                ..EndpointRecord::default()
            })))
        }
        _ => Act::Answer,
    })
}

/// Five blocks of four runs, each of which takes somewhat less than the plan says.
fn study() -> Plan {
    plan(5, &[conditions(), conditions(), conditions(), conditions()])
}

fn execute(world: &World, limits: StateLimits) -> Outcome {
    let mut session = world.session(Duration::ZERO).expect("both agents greet");
    session.repeat_in_one_state(limits);
    Outcome::of(&mut session, &study(), &BTreeSet::new())
}

fn quarter() -> StateLimits {
    StateLimits {
        budget: Some(study().total_time() / 4),
        ..StateLimits::default()
    }
}

/// The runs that were repeated, in their order.
fn repeated(outcome: &Outcome) -> Vec<u32> {
    let repeated = |event: &Event| match event {
        Event::RunRepeated { run, .. } => Some(*run),
        _ => None,
    };
    outcome.events.iter().filter_map(repeated).collect()
}

fn met(outcome: &Outcome) -> Option<&Repeats> {
    outcome.events.iter().find_map(|event| match event {
        Event::StatesMet { repeats } => Some(repeats),
        _ => None,
    })
}

/// The round trip of each run's last result; absent where it changed during the run.
fn last_trips(outcome: &Outcome) -> BTreeMap<u32, Option<f64>> {
    let trip = |event: &Event| match event {
        Event::RunEnded {
            run,
            sender,
            receiver,
            ..
        } => {
            let (_, times) = MachineState::of(sender, receiver).distance?;
            let steady = (!times.has_changed()).then_some(times.median_ns);
            Some((*run, steady))
        }
        _ => None,
    };
    outcome.events.iter().filter_map(trip).collect()
}

#[test]
fn a_state_that_stays_makes_no_further_run() {
    for is_far in [false, true] {
        let world = machine(move |_| is_far);
        let outcome = execute(&world, quarter());
        assert_eq!(outcome.ended(), (0..20).collect::<Vec<u32>>());
        assert_eq!((repeated(&outcome), met(&outcome)), (Vec::new(), None));
        let before = World::honest();
        before.execute(&study());
        assert_eq!(world.now(), before.now(), "no time is spent");
    }
}

#[test]
fn runs_in_another_state_are_repeated_within_the_budget() {
    let is_far = |at| (seconds(11.0)..seconds(18.0)).contains(&at);
    let world = machine(is_far);
    let outcome = execute(&world, quarter());
    assert_eq!(outcome.ending.as_ref().ok(), Some(&Ending::Complete));
    let trips = last_trips(&outcome);
    assert_eq!(trips.len(), 20);
    assert!(trips.values().all(|trip| *trip == Some(44.0)), "{trips:?}");
    let again = repeated(&outcome);
    assert!(!again.is_empty() && again.len() <= 5, "{again:?}");
    let repeats = met(&outcome).expect("told");
    assert_eq!(repeats.repeated as usize, again.len());
    assert!(repeats.left.is_empty() && repeats.spent_ms <= repeats.allowed_ms);
    assert_eq!(repeats.states[0].round_trip_ns, (44.0, 44.0));
    assert!(world.now() < study().total_time() * 5 / 4);
}

#[test]
fn a_run_during_which_the_state_changed_is_repeated_at_once_if_it_is_back() {
    // The third run ends with the CPUs far from each other, which lasts no longer.
    let steady = machine(|_| false);
    steady.execute(&study());
    let heard = steady.heard().into_iter();
    let mut ends = heard.filter(|(_, _, message)| matches!(message, ToAgent::Finish { .. }));
    let (end, _, _) = ends.nth(2 * 3 - 1).expect("three runs");
    let far = end - seconds(0.5)..end + Duration::from_micros(50);
    let world = machine(move |at| far.contains(&at));
    let outcome = execute(&world, quarter());
    let again = repeated(&outcome);
    assert_eq!(again.len(), 1, "{again:?}");
    let at = again[0] as usize;
    assert_eq!(outcome.ended()[at..at + 2], [again[0]; 2]);
    let why = outcome.events.iter().find_map(|event| match event {
        Event::RunRepeated { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    assert!(
        why.is_some_and(|why| why.contains("changed from")),
        "{why:?}"
    );
}

#[test]
fn a_state_that_does_not_come_back_costs_the_budget_and_is_told() {
    let world = machine(|at| at > seconds(15.0));
    let outcome = execute(&world, quarter());
    assert_eq!(outcome.ending.as_ref().ok(), Some(&Ending::Complete));
    let repeats = met(&outcome).expect("told");
    assert_eq!(repeats.repeated, 0);
    assert!(repeats.left.len() > 10, "{repeats:?}");
    assert!(repeats.spent_ms <= repeats.allowed_ms, "{repeats:?}");
    assert!(world.now() < study().total_time() * 5 / 4);
    let waits = |event: &&Event| matches!(event, Event::StateAwaited { .. });
    assert_eq!(outcome.events.iter().filter(waits).count(), 1);
}

#[test]
fn without_a_budget_nothing_is_repeated() {
    let world = machine(|at| at > seconds(15.0));
    let none = StateLimits {
        budget: Some(Duration::ZERO),
        ..StateLimits::default()
    };
    let outcome = execute(&world, none);
    assert_eq!(outcome.ended().len(), 20);
    assert_eq!(
        met(&outcome).map(|met| (met.repeated, met.spent_ms)),
        Some((0, 0))
    );
}

#[test]
fn the_nearest_state_of_the_first_block_is_the_studys() {
    let world = machine(|at| at < seconds(5.0));
    let outcome = execute(&world, quarter());
    assert!(
        last_trips(&outcome)
            .values()
            .all(|trip| *trip == Some(44.0))
    );
    assert!(met(&outcome).is_some_and(|met| met.left.is_empty()));
}

#[test]
fn a_state_that_was_seen_for_a_moment_is_not_the_studys() {
    let steady = machine(|_| false);
    steady.execute(&study());
    let heard = steady.heard().into_iter();
    let mut starts = heard.filter(|(_, _, message)| matches!(message, ToAgent::Start(_)));
    let (second, _, _) = starts.nth(2).expect("two runs of two endpoints");
    let world = machine(move |at| at >= second);
    let outcome = execute(&world, quarter());
    let trips = last_trips(&outcome);
    assert!(trips.values().all(|trip| *trip == Some(370.0)), "{trips:?}");
    assert_eq!(repeated(&outcome), [0]);
    assert!(met(&outcome).is_some_and(|met| met.left.is_empty()));
}

#[test]
fn the_state_of_an_earlier_execution_is_wanted() {
    let world = machine(|at| at > seconds(5.0));
    let wanted = StateLimits {
        states: vec![DistanceState {
            cpus: [0, 1],
            round_trip_ns: (330.0, 420.0),
        }],
        ..quarter()
    };
    let outcome = execute(&world, wanted);
    let trips = last_trips(&outcome);
    assert!(trips.values().all(|trip| *trip == Some(370.0)), "{trips:?}");
}

#[test]
fn a_user_who_does_not_wait_ends_a_complete_study() {
    let planned = World::honest();
    planned.execute(&study());
    let world = machine(|at| at > seconds(15.0)).stop_at(planned.now() + seconds(2.0));
    let outcome = execute(&world, quarter());
    assert_eq!(outcome.ending.as_ref().ok(), Some(&Ending::Complete));
    assert!(met(&outcome).is_some());
    assert!(world.now() < planned.now() + seconds(2.5));
}

/// Two hosts have no distance: only the speed of their CPUs tells one state from another.
#[test]
fn runs_on_slower_cpus_are_repeated() {
    let world = World::new(|heard| match (heard.role, heard.message) {
        (Role::Receiver, ToAgent::Finish { .. }) => {
            let is_slow = (seconds(11.0)..seconds(14.0)).contains(&heard.at);
            let loop_ns = vec![if is_slow { 7000 } else { 3700 }; 4];
            Act::Say(FromAgent::Done(Box::new(EndpointRecord {
                role: Role::Receiver,
                speed: vec![CpuSpeed { cpu: 0, loop_ns }],
                ..EndpointRecord::default()
            })))
        }
        _ => Act::Answer,
    });
    let outcome = execute(&world, quarter());
    assert!(!repeated(&outcome).is_empty());
    assert!(met(&outcome).is_some_and(|met| met.left.is_empty()));
    let asked = world.heard();
    let is_distance = |message: &ToAgent| matches!(message, ToAgent::Distance { .. });
    assert!(!asked.iter().any(|(_, _, message)| is_distance(message)));
}
