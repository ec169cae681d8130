//! Directions and mixes: every part of a run accounts for the data that it moved, whoever sent it.

use crate::bench::*;
use bitcost_model::conditions::Direction;
use bitcost_model::record::{FlowRecord, Role, ThreadKind};

bitcost_testkit::trials! {
    Host: every_workload_runs_in_each_direction_and_both, every_part_is_reported, concurrent_parts_account_for_their_bytes;
}

const EVERY: &str = r#"title = "Directions"
question = "Which way?"
[workload]
warmup_s = 0.05
duration_s = 0.3
message_size_bytes = 1024
flows = 2
[[factor]]
name = "workload"
levels = [
  "tcp_stream", "tcp_rr", "udp_rr", "tcp_crr", "tcp_connect",
  { label = "udp_stream", workload = "udp_stream", message_rate = 5000 },
]
[[factor]]
name = "direction"
levels = ["reverse", "both"]
[run]
blocks = 1
"#;

/// A bulk flow with background flows.
const MIX: &str = r#"title = "Mixes"
question = "What is the latency under load?"
[workload]
warmup_s = 0.05
duration_s = 0.3
background = "tcp_rr"
[[factor]]
name = "load"
levels = [
  { label = "bulk", flows = 3, direction = "reverse" },
  { label = "many", direction = "both", background = [
    "udp_rr direction=both request-size=100",
    "udp_stream message-size=256 direction=reverse flows=2 message_rate=5000",
  ] },
  { label = "counted", stop_bytes = 3000001, flows = 2, direction = "both" },
  { label = "counted datagrams", workload = "udp_stream", message_size_bytes = 1000, stop_messages = 2001 },
]
[run]
blocks = 1
[table]
rows = "load"
metrics = ["throughput_mbps", "total_throughput_mbps", "background_transactions_per_second", "background_latency_p99_us"]
"#;

/// The counts of one endpoint for one part.
struct Side<'a> {
    role: Role,
    all: FlowRecord,
    flows: &'a [FlowRecord],
}

impl Side<'_> {
    fn of(end: &EndpointRecord, part: usize) -> Side<'_> {
        match part.checked_sub(1) {
            None => Side {
                role: end.role,
                all: FlowRecord {
                    counts: end.counts,
                    sequence: end.sequence,
                    tcp_info: end.tcp_info.clone(),
                    latency: end.latency.clone(),
                    ..FlowRecord::sum(&end.flows)
                },
                flows: &end.flows,
            },
            Some(later) => {
                let part = &end.background[later];
                Side {
                    role: part.role,
                    all: part.all.clone(),
                    flows: &part.flows,
                }
            }
        }
    }
}

/// Runs a study and checks each part of each run.
fn every_part(study: &str, runs: usize) -> Bench {
    let bench = Bench::new();
    bench.write("parts.toml", study);
    let done = bench.bitcost(&["run", "parts.toml"]);
    // On a busy machine one part may starve the others in so short a window.
    assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
    let ended = ended(&bench.log());
    assert_eq!(ended.len(), runs);
    for run in &ended {
        check(&run.conditions, &run.ends[0], &run.ends[1]);
    }
    bench.assert_nothing_left();
    bench
}

fn check(conditions: &Conditions, sender: &EndpointRecord, receiver: &EndpointRecord) {
    let parts = conditions.parts();
    assert_eq!((sender.role, receiver.role), (Role::Sender, Role::Receiver));
    let devices = [&sender.offloads.device, &receiver.offloads.device];
    let is_reverse = conditions.direction == Direction::Reverse;
    let mut expected = ["h1-eth0", "h2-eth0"];
    if is_reverse {
        expected.reverse();
    }
    assert_eq!(devices, expected);
    for end in [sender, receiver] {
        assert_eq!(end.background.len() + 1, parts.len());
        let mut samples = end.samples.iter();
        assert!(samples.all(|sample| sample.background.len() + 1 == parts.len()));
        // Threads whose flows have ended still exist until the last sample.
        let threads = end.samples.last().unwrap().threads.iter();
        let traffic = threads.filter(|thread| thread.kind == ThreadKind::Traffic);
        let flows: u32 = parts.iter().map(|part| part.flows).sum();
        assert_eq!(traffic.count(), flows as usize);
    }
    let is_one = conditions.background.is_empty();
    for (part, conditions) in parts.iter().enumerate() {
        let (a, b) = (Side::of(sender, part), Side::of(receiver, part));
        assert_eq!(b.role, a.role.other());
        // The host called sender is the one with the sender's record, unless the first part is
        // reversed.
        let host = match is_reverse {
            true => Role::Receiver,
            false => Role::Sender,
        };
        let name = conditions.phrase();
        assert_eq!(a.role, conditions.direction.role_of(host), "{name}");
        let (from, to) = match a.role {
            Role::Sender => (a, b),
            Role::Receiver => (b, a),
        };
        for side in [&from, &to] {
            assert_eq!(side.flows.len(), conditions.flows as usize);
            assert_eq!(FlowRecord::sum(side.flows), side.all);
        }
        let messages = from.all.counts.total().messages;
        assert!(!is_one || messages > 0, "{name}");
        let has_times = from.all.latency.is_some();
        assert_eq!(has_times, conditions.latency, "{name}");
        // Connections that are made during the run go to any flow of the receiver, which share a port.
        if !conditions.workload.makes_connections() {
            for (from, to) in from.flows.iter().zip(to.flows) {
                account(conditions, from, to);
            }
        }
        account(conditions, &from.all, &to.all);
    }
}

/// Asserts that everything that was sent arrived, or is known to be lost.
fn account(conditions: &Conditions, from: &FlowRecord, to: &FlowRecord) {
    let (sent, received) = (from.counts.total(), to.counts.total());
    let name = conditions.phrase();
    let workload = conditions.workload;
    match (workload.is_transactional(), workload.is_datagram()) {
        (false, false) => assert_eq!(sent.bytes, received.bytes, "{name}"),
        (false, true) => {
            let sequence = to.sequence.unwrap();
            assert_eq!(sent.messages, received.messages + sequence.total_lost);
            let measured = (from.counts.measured.messages, to.counts.measured.messages);
            assert_eq!(measured.0, measured.1 + sequence.measured_lost, "{name}");
        }
        (true, true) => {
            let asked = sent.messages + sent.unanswered;
            assert!(
                (sent.messages..=asked).contains(&received.messages),
                "{name}: {sent:?} {received:?}"
            );
        }
        (true, false) => {
            assert_eq!(sent.messages, received.messages);
            assert_eq!(sent.bytes, received.bytes);
        }
    }
    if conditions.is_bounded() {
        assert_eq!(from.counts.outside.messages, 0, "{name}");
    }
}

fn every_workload_runs_in_each_direction_and_both() {
    every_part(EVERY, 12);
}

fn concurrent_parts_account_for_their_bytes() {
    let bench = every_part(MIX, 4);
    let bound = |run: Ended| {
        let (conditions, counts) = (run.conditions, run.ends[0].counts.total());
        let bytes = conditions
            .stop_bytes
            .map(|most| counts.bytes.abs_diff(most));
        let messages = conditions.stop_messages;
        bytes.or(messages.map(|most| counts.messages.abs_diff(most)))
    };
    let bounds: Vec<u64> = ended(&bench.log()).into_iter().filter_map(bound).collect();
    assert_eq!(bounds, [0, 0]);
}

fn every_part_is_reported() {
    let bench = Bench::new();
    let words = split(
        "test tcp --both --background 'rr direction=reverse request-size=64' -t 1100ms -O 100ms --verbose",
    );
    let done = bench.bitcost(&words).with_code(0);
    let wide = "| Throughput, measured and background flows";
    for line in [
        "    1 s  ← tcp_stream sender",
        "← tcp_rr",
        "all flows",
        wide,
    ] {
        done.assert_prints(&format!("\n{line}"));
    }
    let done = bench
        .bitcost(&[&words[..], &["--json"]].concat())
        .with_code(0);
    let document = done.json();
    let parts = document["parts"].as_array().unwrap();
    let name = |part: &Value| {
        let word = |key: &str| part["conditions"][key].as_str().unwrap();
        [word("workload"), word("direction")].join(" ")
    };
    let names: Vec<String> = parts.iter().map(name).collect();
    let expected = ["tcp_stream forward", "tcp_stream reverse", "tcp_rr reverse"];
    assert_eq!(names, expected);
    let of = |part: usize, name: &str| parts[part]["metrics"][name].as_f64();
    let all = |name: &str| Some(done.figure(name));
    assert_eq!(all("throughput_mbps"), of(0, "throughput_mbps"));
    assert_eq!(all("background_throughput_mbps"), of(1, "throughput_mbps"));
    assert_eq!(
        all("background_transactions_per_second"),
        of(2, "transactions_per_second")
    );
    assert_eq!(all("background_latency_p99_us"), of(2, "latency_p99_us"));
    let sum: Option<f64> = (0..3).map(|part| of(part, "throughput_mbps")).sum();
    assert!((all("total_throughput_mbps").unwrap() / sum.unwrap() - 1.0).abs() < 1e-9);
    bench.assert_nothing_left();
}
