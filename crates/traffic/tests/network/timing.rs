//! Delay variation of a stream's messages.

use crate::play::*;
use bitcost_model::record::FlowRecord;

bitcost_testkit::trials! { PrivateNetwork:
    delay_variation_is_recorded_where_requested;
}

fn delay_variation_is_recorded_where_requested() {
    let conditions = Conditions {
        workload: Workload::UdpStream,
        delay_variation: true,
        message_size_bytes: 16,
        message_rate: Some(20_000),
        stop_messages: Some(2000),
        warmup_ms: 0,
        ..Conditions::default()
    };
    assert_eq!(conditions.check(1500), Ok(()));
    let ends = meet(&conditions);
    let yes = || Some("true".to_owned());
    let wanted = InEffect {
        name: "delay_variation".into(),
        requested: yes(),
        actual: yes(),
    };
    assert!(ends.iter().all(|end| end.in_effect.contains(&wanted)));
    let played = play(ends);
    let [sender, receiver] = played.outcomes;
    let received = played.receiver.measured.messages;
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
    let plain = play(meet(&Conditions {
        delay_variation: false,
        ..conditions
    }));
    let is_absent = |outcome: &FlowRecord| outcome.delay_variation.is_none();
    assert!(plain.outcomes.iter().all(is_absent));
}
