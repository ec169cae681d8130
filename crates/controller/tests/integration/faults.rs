//! An agent that dies, hangs, fails, is late or sends invalid messages costs its run and no other.

use crate::world::*;
use std::mem::{Discriminant, discriminant};

use bitcost_model::protocol::{PROTOCOL, Start};

/// The kinds of messages of a run.
fn steps() -> Vec<(&'static str, Discriminant<ToAgent>)> {
    let start = Start {
        begin_ns: 0,
        window_start_ns: 0,
        window_end_ns: 0,
        stop_ns: 0,
    };
    let prepare = bitcost_model::protocol::Prepare {
        run: 0,
        device: String::new(),
        cpus: Vec::new(),
        peer_cpu: None,
        softirq_cpus: Vec::new(),
        token: [0; 16],
        parts: Vec::new(),
        receiving: None,
        peer: bitcost_model::protocol::Peer::Bitcost,
        is_profiled: false,
        discards: false,
        is_remote: false,
    };
    vec![
        (
            "its listening sockets",
            discriminant(&ToAgent::Prepare(Box::new(prepare))),
        ),
        (
            "its endpoint to be ready",
            discriminant(&ToAgent::Meet {
                addresses: Vec::new(),
                origin: None,
            }),
        ),
        ("its clock", discriminant(&ToAgent::Clock)),
        (
            "the end of its traffic",
            discriminant(&ToAgent::Start(start)),
        ),
        (
            "the end of its traffic",
            discriminant(&ToAgent::Finish { sent: Vec::new() }),
        ),
    ]
}

/// Agents of which one acts differently at one step of the second run.
fn at_step(role: Role, step: Discriminant<ToAgent>, act: impl Fn() -> Act + 'static) -> World {
    World::new(move |heard: &Heard| {
        let is_it =
            heard.role == role && heard.run == Some(1) && discriminant(heard.message) == step;
        if is_it { act() } else { Act::Answer }
    })
}

/// Executes four runs, of which the second one fails.
fn fails_once(world: &World, patience: Duration, case: &str) -> (FailureKind, String) {
    let outcome = world.execute_with(&plan(2, &[conditions(), conditions()]), patience);
    assert_eq!(outcome.ended(), [0, 2, 3], "{case}: {:?}", outcome.failed());
    assert_eq!(outcome.ending.as_ref().ok(), Some(&Ending::Complete));
    let (run, kind, reason) = outcome.failure();
    assert_eq!(run, 1, "{case}");
    (kind, reason.to_owned())
}

#[test]
fn killed_agent_costs_its_run_at_every_step() {
    for role in BOTH {
        for (what, step) in steps() {
            let world = at_step(role, step, || Act::Die("it ended with signal: 9 (SIGKILL)"));
            let (kind, reason) = fails_once(&world, Duration::ZERO, what);
            assert_eq!(kind, FailureKind::Failed);
            let wanted = format!(
                "{} agent is gone: it ended with signal: 9 (SIGKILL)",
                role.name()
            );
            assert_eq!(reason, wanted, "{what}");
            let started = world.started().into_iter().filter(|start| start.1 == role);
            assert_eq!(started.count(), 2, "{what}: it is started again");
            assert_eq!(world.started().len(), 3, "{what}: the other one goes on");
        }
    }
}

#[test]
fn agent_that_renews_its_lease_and_does_nothing_times_out_at_every_step() {
    for role in BOTH {
        for (what, step) in steps() {
            let (_, reason) =
                fails_once(&at_step(role, step, || Act::Ignore), Duration::ZERO, what);
            let wanted = format!("{} agent timed out waiting for {what}", role.name());
            assert_eq!(reason, wanted);
        }
    }
}

#[test]
fn agent_that_is_silent_is_lost_within_seconds_at_every_step() {
    for role in BOTH {
        for (what, step) in steps() {
            let world = at_step(role, step, || Act::Hang);
            let (kind, reason) = fails_once(&world, Duration::ZERO, what);
            if reason.contains("timed out") {
                // An answer without traffic has less time than a lost agent's silence.
                assert_eq!(what, "its clock");
                continue;
            }
            assert_eq!(kind, FailureKind::Lost);
            let place = format!("the {0} agent at host-{0} for 6 s", role.name());
            assert!(
                reason.starts_with(&format!("nothing heard from {place}")),
                "{reason}"
            );
        }
    }
}

#[test]
fn connection_to_both_is_lost_at_the_same_time() {
    let world = World::new(|heard| match (heard.run, heard.message) {
        (Some(1), ToAgent::Renew) => Act::Hang,
        _ => Act::Answer,
    });
    let (kind, reason) = fails_once(&world, Duration::ZERO, "both");
    assert_eq!(kind, FailureKind::Lost);
    assert!(
        reason.contains("the sender agent at host-sender and the receiver agent at host-receiver"),
        "{reason}"
    );
}

#[test]
fn failure_is_passed_on_and_the_agents_stay() {
    for role in BOTH {
        for (what, step) in steps() {
            let world = at_step(role, step, || Act::Fail("port 5000 is in use\u{1b}[31m"));
            let (kind, reason) = fails_once(&world, Duration::ZERO, what);
            assert_eq!(kind, FailureKind::Failed);
            assert!(
                reason.starts_with(&format!("{}: port 5000 is in use", role.name())),
                "{reason}"
            );
            assert!(!reason.contains('\u{1b}'), "{reason:?}");
            assert_eq!(world.started().len(), 2, "{what}");
            let stops = world.heard().into_iter();
            let stops = stops.filter(|(_, _, message)| *message == ToAgent::Stop);
            assert_eq!(
                stops.count(),
                2,
                "{what}: both are stopped before the next run"
            );
        }
    }
}

/// The sender notices that the receiver died, and reports it first.
#[test]
fn death_of_the_other_agent_is_the_cause_of_a_failure() {
    let world = World::new(|heard| match (heard.role, heard.run, heard.message) {
        (Role::Sender, Some(1), ToAgent::Start(_)) => Act::Fail("connection reset by peer"),
        (Role::Receiver, Some(1), ToAgent::Start(_)) => {
            Act::Die("it ended with signal: 6 (SIGABRT)")
        }
        _ => Act::Answer,
    });
    let (_, reason) = fails_once(&world, Duration::ZERO, "both");
    assert_eq!(
        reason,
        "receiver agent is gone: it ended with signal: 6 (SIGABRT)"
    );
}

/// The receiver answers nothing more from the second run's start. `ends` is what becomes of the
/// sender with its `renewals`th renewal after that.
fn receiver_is_silent(renewals: u32, ends: impl Fn() -> Act + 'static) -> (FailureKind, String) {
    let mut renewed = 0;
    let world =
        World::new(
            move |heard| match (heard.role, heard.run, heard.earlier, heard.message) {
                (Role::Receiver, Some(1), 0, ToAgent::Start(_)) => Act::Hang,
                (Role::Sender, Some(1), 0, ToAgent::Start(_)) => Act::Ignore,
                (Role::Sender, Some(1), 0, ToAgent::Renew) => {
                    renewed += 1;
                    match renewed == renewals {
                        true => ends(),
                        false => Act::Answer,
                    }
                }
                _ => Act::Answer,
            },
        );
    fails_once(&world, Duration::ZERO, "silent")
}

#[test]
fn silence_of_the_other_agent_is_the_cause_of_an_end_and_of_a_failure() {
    let silent = "nothing heard from the receiver agent at host-receiver for 4 s: it hangs, or the connection is lost; ";
    let ends = || Act::Die("it ended with exit status: 3");
    let (kind, reason) = receiver_is_silent(5, ends);
    assert_eq!(kind, FailureKind::Lost);
    let wanted = format!("{silent}the sender agent is gone: it ended with exit status: 3");
    assert_eq!(reason, wanted);
    let (kind, reason) = receiver_is_silent(5, || Act::Fail("no route to host"));
    assert_eq!(kind, FailureKind::Lost);
    assert_eq!(
        reason,
        format!("{silent}the sender agent reports: no route to host")
    );
    // One that is late by less is not blamed.
    let (kind, reason) = receiver_is_silent(3, ends);
    assert_eq!(kind, FailureKind::Failed);
    assert_eq!(reason, "sender agent is gone: it ended with exit status: 3");
}

/// The answer to the second run's request arrives during the third run, from an agent that was
/// replaced.
#[test]
fn late_answer_does_not_reach_the_next_run() {
    for role in BOTH {
        for (what, step) in steps() {
            let late = Duration::from_secs(45);
            let world = at_step(role, step, move || Act::Late(late));
            let (_, reason) = fails_once(&world, Duration::ZERO, what);
            assert!(reason.contains(what), "{reason}");
            let started = world.started().into_iter().filter(|start| start.1 == role);
            assert_eq!(
                started.count(),
                2,
                "{what}: one that does not stop is replaced"
            );
        }
    }
}

#[test]
fn agent_that_never_stops_talking_times_out() {
    let prepare = steps()[0].1;
    let world = at_step(Role::Receiver, prepare, || Act::Talk);
    let (_, reason) = fails_once(&world, Duration::ZERO, "talk");
    assert_eq!(
        reason,
        "receiver agent timed out waiting for its listening sockets"
    );
}

#[test]
fn agent_of_another_protocol_is_refused() {
    let greets = || {
        Act::Say(FromAgent::Hello {
            protocol: PROTOCOL + 1,
            version: "9.9.9".to_owned(),
        })
    };
    let world = World::new(move |heard| match (heard.earlier, heard.message) {
        (0, ToAgent::Hello { .. }) => greets(),
        _ => Act::Answer,
    });
    let refused = world.session(Duration::ZERO).err().expect("is refused");
    let error = refused.to_string();
    assert!(
        error.contains("it is bitcost 9.9.9") && error.ends_with("the same bitcost on all hosts"),
        "{error}"
    );
}
