//! The lease, and the start of one run on two hosts whose clocks differ.

use crate::world::*;
use bitcost_model::protocol::{Lease, Start};

/// A window that is far longer than the lease: a scripted agent ends when its lease runs out.
#[test]
fn leases_are_renewed_during_a_long_run() {
    let world = World::honest();
    let long = Conditions {
        duration_ms: 60_000,
        ..conditions()
    };
    assert_eq!(world.execute(&plan(1, &[long])).ended(), [0]);
    for role in [Role::Sender, Role::Receiver] {
        let heard = world.heard();
        let times: Vec<Duration> = heard
            .iter()
            .filter(|(_, agent, _)| agent.role == role)
            .map(|(time, _, _)| *time)
            .collect();
        let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max();
        let most = Lease::RENEWAL + Duration::from_millis(100);
        assert!(longest.is_some_and(|gap| gap <= most), "{longest:?}");
    }
}

/// The start that each agent received, on the controller's clock.
fn starts(world: &World, offset_ns: [u64; 2]) -> [(Duration, Start); 2] {
    let found = [Role::Sender, Role::Receiver].map(|role| {
        let heard = world.heard();
        let offset = offset_ns[usize::from(role == Role::Receiver)];
        heard
            .into_iter()
            .find_map(|(time, agent, message)| match message {
                ToAgent::Start(start) if agent.role == role => Some((
                    time,
                    Start {
                        begin_ns: start.begin_ns - offset,
                        window_start_ns: start.window_start_ns - offset,
                        window_end_ns: start.window_end_ns - offset,
                        stop_ns: start.stop_ns - offset,
                    },
                )),
                _ => None,
            })
    });
    found.map(|start| start.expect("each agent is started"))
}

#[test]
fn windows_are_the_same_on_clocks_that_differ() {
    let latency = [Duration::from_micros(300), Duration::from_millis(40)];
    let offset_ns = [86_400_000_000_000, 7_000_000_000];
    let world = World::honest().with_clocks(latency, offset_ns);
    let conditions = conditions();
    let outcome = world.execute(&plan(1, std::slice::from_ref(&conditions)));
    let uncertainty_us = outcome.events.iter().find_map(|event| match event {
        Event::RunEnded {
            start_uncertainty_us,
            ..
        } => Some(*start_uncertainty_us),
        _ => None,
    });
    // This is half of both round trips.
    assert_eq!(uncertainty_us, Some(40_300.0));
    let [(_, sender), (arrival, receiver)] = starts(&world, offset_ns);
    assert_eq!(sender, receiver, "latency is the same in both directions");
    let window_ns = u64::from(conditions.duration_ms) * 1_000_000;
    assert_eq!(sender.window_end_ns - sender.window_start_ns, window_ns);
    let warmup_ns = u64::from(conditions.warmup_ms) * 1_000_000;
    assert_eq!(sender.window_start_ns - sender.begin_ns, warmup_ns);
    assert!(sender.stop_ns - sender.window_end_ns >= 40_300_000);
    assert!(
        receiver.begin_ns > arrival.as_nanos() as u64,
        "the start is known before it"
    );
}
