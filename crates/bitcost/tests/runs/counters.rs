//! The counters of its hosts that a run records in its log.

use bitcost_model::record::{EndpointRecord, Sample};

use crate::bench::{Bench, ended};

bitcost_testkit::trials! {
    QuietHost: counters_read_at_window_edges_and_between, deliberate_sleep_is_not_idle_time;
    Host: idle_baseline_measured_before_each_block;
}

const STUDY: &str = r#"title = "Counters"
question = "What is counted?"
[lab]
mtu_bytes = 1500
[workload]
workload = "tcp_stream"
flows = 2
warmup_s = 0.05
duration_s = 0.5
[run]
blocks = 1
"#;

/// Runs a study in the lab; returns the two records of each run.
fn runs(text: &str) -> Vec<[Box<EndpointRecord>; 2]> {
    let bench = Bench::new();
    bench.write("counters.toml", text);
    bench.bitcost(&["run", "./counters.toml"]).assert_code(0);
    let ended: Vec<_> = ended(&bench.log())
        .into_iter()
        .map(|run| run.ends)
        .collect();
    bench.assert_nothing_left();
    ended
}

fn counters_read_at_window_edges_and_between() {
    for [sender, receiver] in &runs(STUDY) {
        for end in [sender, receiver] {
            assert!(end.samples.len() > 2, "{}", end.samples.len());
            each_reading(&end.samples);
            edges(&end.samples);
        }
        hops(sender, receiver);
    }
}

fn each_reading(samples: &[Sample]) {
    for sample in samples {
        assert_eq!((sample.connections().len(), sample.sockets.len()), (2, 2));
        let sum: u32 = sample
            .connections()
            .iter()
            .map(|info| info.segs_out.expect("counted"))
            .sum();
        assert_eq!(
            sample.tcp_info.as_ref().and_then(|info| info.segs_out),
            Some(sum)
        );
        assert!(
            sample
                .sockets
                .iter()
                .all(|socket| socket.send_buffer_bytes > 0)
        );
        assert!(sample.process_ns > Some(0) && !sample.cpus.is_empty());
    }
    let grown = |count: fn(&Sample) -> u64| samples.is_sorted_by_key(count);
    assert!(grown(|sample| sample.process_ns.unwrap_or_default()));
    assert!(grown(|sample| sample
        .interfaces
        .iter()
        .map(|interface| interface.rx_packets)
        .sum()));
    assert!(grown(|sample| sample
        .queues
        .iter()
        .map(|queue| queue.packets)
        .sum()));
}

/// Counters that take long to read are in the first and the last sample only.
fn edges(samples: &[Sample]) {
    for (index, sample) in samples.iter().enumerate() {
        let is_edge = index == 0 || index + 1 == samples.len();
        assert_eq!(sample.protocols.contains_key("Tcp.OutSegs"), is_edge);
        assert!(is_edge || (sample.driver.is_empty() && sample.frequencies.is_empty()));
    }
    let segments = |sample: &Sample| sample.protocols["Tcp.OutSegs"];
    assert!(segments(&samples[0]) < segments(&samples[samples.len() - 1]));
}

/// The record of the sender's host has the ports of the wire, whose queues every segment passes;
/// the host's own device has no queue.
fn hops(sender: &EndpointRecord, receiver: &EndpointRecord) {
    let last = sender.samples.last().expect("samples");
    let named = |node: &Option<String>, device: &str| {
        format!("{}/{device}", node.as_deref().unwrap_or("-"))
    };
    let mut interfaces: Vec<String> = last
        .interfaces
        .iter()
        .map(|found| named(&found.node, &found.device))
        .collect();
    interfaces.sort();
    assert_eq!(
        interfaces,
        ["-/h1-eth0", "w1/w1-eth1", "w1/w1-eth2", "w1/wire"]
    );
    let own = receiver.samples.last().expect("samples");
    assert_eq!(
        own.interfaces
            .iter()
            .map(|found| found.device.as_str())
            .collect::<Vec<_>>(),
        ["h2-eth0"]
    );
    let mut queues: Vec<String> = last
        .queues
        .iter()
        .map(|queue| named(&queue.node, &queue.device))
        .collect();
    queues.sort();
    // A kernel without `pfifo` has no such queue, and the lab reports that.
    assert!(
        queues.is_empty() || queues == ["w1/w1-eth1", "w1/w1-eth2"],
        "{queues:?}"
    );
    if let Some(queue) = last.queues.iter().find(|queue| queue.device == "w1-eth2") {
        assert!(
            queue.packets > 0 && queue.bytes > queue.packets,
            "{queue:?}"
        );
    }
}

fn idle_baseline_measured_before_each_block() {
    for (length, expected_ms) in [
        ("", 500),
        ("idle_baseline_s = 0.2\n", 200),
        ("idle_baseline_s = 0\n", 0),
    ] {
        let factor = "[[factor]]\nname = \"nodelay\"\nlevels = [true, false]\n";
        let study = STUDY
            .replace("[run]", &format!("{length}{factor}[run]"))
            .replace("blocks = 1", "blocks = 2");
        let runs = runs(&study);
        assert_eq!(runs.len(), 4);
        for end in 0..2 {
            let idle = |index: usize| runs[index][end].idle.clone();
            let Some(first) = idle(0) else {
                assert!(expected_ms == 0 && (1..4).all(|index| idle(index).is_none()));
                continue;
            };
            assert!(first.end_ns - first.start_ns >= expected_ms * 1_000_000);
            assert_eq!(first.start.len(), first.end.len());
            assert!(
                first.end_ns < runs[0][1].window_start_ns,
                "before the first run"
            );
            assert_eq!(idle(1).as_ref(), Some(&first), "one for a block");
            assert!(
                idle(2).is_some_and(|second| second.start_ns > runs[1][1].window_end_ns),
                "and a new one for the next"
            );
        }
    }
}

/// A paced sender and a slow receiver sleep on purpose, and this time is counted separately from
/// waiting.
fn deliberate_sleep_is_not_idle_time() {
    let paced = STUDY.replace(
        "flows = 2",
        "message_rate = 2000\nmessage_size_bytes = 1000\nreceiver_delay_us = 1000",
    );
    let runs = runs(&paced.replace("tcp_stream", "udp_stream"));
    for [sender, receiver] in &runs {
        for end in [sender, receiver] {
            let counts = &end.counts.total();
            let window_ns = end.window_end_ns - end.window_start_ns;
            assert!(
                counts.sleeps > 10 && counts.slept_ns > window_ns / 10,
                "{counts:?}"
            );
            let slept: Vec<u64> = end
                .samples
                .iter()
                .map(|sample| sample.counts.slept_ns)
                .collect();
            assert!(
                slept.is_sorted() && slept.first() < slept.last(),
                "{slept:?}"
            );
        }
        assert!(
            sender
                .samples
                .iter()
                .all(|sample| sample.sockets.len() == 1 && sample.connections().is_empty())
        );
    }
    let flat_out = crate::counters::runs(STUDY);
    assert!(
        flat_out
            .iter()
            .all(|[sender, receiver]| sender.counts.total().sleeps
                + receiver.counts.total().sleeps
                == 0)
    );
}
