//! Times of a stream's messages, and delay variation.

use std::sync::Arc;

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::record::InEffect;
use bitcost_traffic::{Control, Outcome, Phase, Ready, Sent};

use crate::{ended, meet_via, start};

/// Runs both endpoints to the run's bound; all of it is the window.
fn play([sender, receiver]: [Ready; 2]) -> [(Outcome, Arc<Control>); 2] {
    let controls: [Arc<Control>; 2] = Default::default();
    controls
        .iter()
        .for_each(|control| control.enter(Phase::Measured));
    let (sender, receiver) = (
        start(sender.flow, &controls[0]),
        start(receiver.flow, &controls[1]),
    );
    let sender = ended(sender);
    let counts = controls[0].counts();
    let sent = Sent {
        measured: counts.measured.messages,
        total: counts.total().messages,
    };
    controls[1].expect_messages(sent.total);
    let receiver = ended(receiver);
    let [first, second] = controls;
    [
        (sender.outcome(Sent::default()), first),
        (receiver.outcome(sent), second),
    ]
}

#[test]
fn send_calls_are_timed_where_requested() {
    for workload in [Workload::TcpStream, Workload::UdpStream] {
        for latency in [true, false] {
            let conditions = Conditions {
                workload,
                latency,
                message_size_bytes: 512,
                stop_messages: Some(3000),
                ..Conditions::default()
            };
            assert_eq!(conditions.check(1500), Ok(()));
            let [(sender, control), (receiver, _)] = play(meet_via(&conditions, |address| address));
            let measured = control.counts().measured;
            assert_eq!(
                (measured.messages, receiver.latency.is_none()),
                (3000, true)
            );
            let times = sender.latency.map(|times| {
                (
                    times.count(),
                    times.max_ns > 0,
                    times.sum_ns >= times.max_ns,
                )
            });
            assert_eq!(times, latency.then_some((3000, true, true)), "{workload:?}");
        }
    }
}

#[test]
fn delay_variation_is_recorded_where_requested() {
    let conditions = Conditions {
        workload: Workload::UdpStream,
        delay_variation: true,
        message_size_bytes: 16,
        message_rate: Some(20_000),
        stop_messages: Some(2000),
        ..Conditions::default()
    };
    assert_eq!(conditions.check(1500), Ok(()));
    let ends = meet_via(&conditions, |address| address);
    let yes = || Some("true".to_owned());
    let wanted = InEffect {
        name: "delay_variation".into(),
        requested: yes(),
        actual: yes(),
    };
    assert!(ends.iter().all(|end| end.in_effect.contains(&wanted)));
    let [(sender, _), (receiver, control)] = play(ends);
    let received = control.counts().measured.messages;
    let found = receiver.delay_variation.expect("asked for");
    // Each pair without a gap has a difference; every lost datagram may cost two.
    let pairs = found.differences.count();
    assert!(
        pairs < received && pairs + 2 * (2000 - received) >= 1999,
        "{pairs} pairs of {received} datagrams"
    );
    assert!(
        found.differences.max_ns > 0 && found.differences.max_ns < 10_000_000_000,
        "{found:?}"
    );
    assert!(sender.delay_variation.is_none());
    let plain = play(meet_via(
        &Conditions {
            delay_variation: false,
            ..conditions
        },
        |address| address,
    ));
    assert!(
        plain
            .iter()
            .all(|(outcome, _)| outcome.delay_variation.is_none())
    );
}
