//! What a run records of its hosts: counters, cached TCP metrics, the time of soft interrupts.

use crate::bench::*;
use std::net::TcpListener;

use bitcost_model::counters::SoftirqTime;
use bitcost_model::record::{SOFTIRQ_TIME, SOFTIRQS_TIMED, Sample, TcpInfo};
use bitcost_sys::namespace::unshare_user_as_root;

bitcost_testkit::trials! {
    QuietHost: counters_read_at_window_edges_and_between, deliberate_sleep_is_not_idle_time;
    Host: idle_baseline_measured_before_each_block, soft_interrupts_are_timed_where_the_kernel_permits_it, without_privilege_ticks_are_used_and_the_record_says_why;
    PrivateNetwork: cached_tcp_metrics_are_reported_and_kept;
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
    bench.assert_nothing_left();
    let ended = ended(&bench.log()).into_iter();
    ended.map(|run| run.ends).collect()
}

fn counters_read_at_window_edges_and_between() {
    for [sender, receiver] in &runs(STUDY) {
        for end in [sender, receiver] {
            assert!(end.samples.len() > 2, "{}", end.samples.len());
            each_reading(&end.samples);
            edges(&end.samples);
            // As long as the window, where nothing is asked for.
            let idle = end.idle.as_ref().expect("measured");
            assert!(idle.end_ns - idle.start_ns >= 500_000_000);
            assert_eq!(end.counts.total().sleeps, 0);
        }
        hops(sender, receiver);
    }
}

fn each_reading(samples: &[Sample]) {
    for sample in samples {
        assert_eq!((sample.connections().len(), sample.sockets.len()), (2, 2));
        let segments = |info: &TcpInfo| info.segs_out.expect("counted");
        let sum: u32 = sample.connections().iter().map(segments).sum();
        assert_eq!(sample.tcp_info.as_ref().map(segments), Some(sum));
        let mut sockets = sample.sockets.iter();
        assert!(sockets.all(|socket| socket.send_buffer_bytes > 0));
        assert!(!sample.cpus.is_empty());
    }
    let grown = |count: fn(&Sample) -> u64| samples.is_sorted_by_key(count);
    assert!(grown(|sample| {
        let interfaces = sample.interfaces.iter();
        interfaces.map(|interface| interface.rx_packets).sum()
    }));
    assert!(grown(|sample| {
        sample.queues.iter().map(|queue| queue.packets).sum()
    }));
}

/// Counters that take long to read are in the first and the last sample only.
fn edges(samples: &[Sample]) {
    for (index, sample) in samples.iter().enumerate() {
        let is_edge = index == 0 || index + 1 == samples.len();
        assert_eq!(sample.protocols.contains_key("Tcp.OutSegs"), is_edge);
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
    let interfaces = |end: &EndpointRecord| {
        let interfaces = &end.samples.last().expect("samples").interfaces;
        let names = interfaces.iter().map(|one| named(&one.node, &one.device));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let of_sender = ["-/h1-eth0", "w1/w1-eth1", "w1/w1-eth2", "w1/wire"];
    assert_eq!(interfaces(sender), of_sender);
    assert_eq!(interfaces(receiver), ["-/h2-eth0"]);
    let queues = last
        .queues
        .iter()
        .map(|queue| named(&queue.node, &queue.device));
    let mut queues: Vec<String> = queues.collect();
    queues.sort();
    // A kernel without `pfifo` has no such queue, and the lab reports that.
    assert!(
        queues.is_empty() || queues == ["w1/w1-eth1", "w1/w1-eth2"],
        "{queues:?}"
    );
    if let Some(queue) = last.queues.iter().find(|queue| queue.device == "w1-eth2") {
        let is_counted = queue.packets > 0 && queue.bytes > queue.packets;
        assert!(is_counted, "{queue:?}");
    }
}

fn idle_baseline_measured_before_each_block() {
    let more =
        "idle_baseline_s = 0.2\n[[factor]]\nname = \"nodelay\"\nlevels = [true, false]\n[run]";
    let study = STUDY.replace("[run]", more);
    let runs = runs(&study.replace("blocks = 1", "blocks = 2"));
    assert_eq!(runs.len(), 4);
    for end in 0..2 {
        let idle = |index: usize| runs[index][end].idle.clone().expect("measured");
        let first = idle(0);
        assert!(first.end_ns - first.start_ns >= 200_000_000);
        assert_eq!(first.start.len(), first.end.len());
        // Before the first run, one for a block, and a new one for the next.
        assert!(first.end_ns < runs[0][1].window_start_ns);
        assert_eq!(idle(1), first);
        assert!(idle(2).start_ns > runs[1][1].window_end_ns);
    }
}

/// A paced sender and a slow receiver sleep on purpose, and this time is counted separately from
/// waiting.
fn deliberate_sleep_is_not_idle_time() {
    let paced = STUDY
        .replace("[run]", "idle_baseline_s = 0\n[run]")
        .replace(
            "flows = 2",
            "message_rate = 2000\nmessage_size_bytes = 1000\nreceiver_delay_us = 1000",
        );
    let runs = runs(&paced.replace("tcp_stream", "udp_stream"));
    for [sender, receiver] in &runs {
        for end in [sender, receiver] {
            let counts = &end.counts.total();
            let window_ns = end.window_end_ns - end.window_start_ns;
            let has_slept = counts.sleeps > 10 && counts.slept_ns > window_ns / 10;
            assert!(has_slept, "{counts:?}");
            let slept = |sample: &Sample| sample.counts.slept_ns;
            assert!(end.samples.is_sorted_by_key(slept));
            assert!(slept(&end.samples[0]) < slept(end.samples.last().unwrap()));
            assert!(end.idle.is_none());
        }
        let has_one =
            |sample: &Sample| sample.sockets.len() == 1 && sample.connections().is_empty();
        assert!(sender.samples.iter().all(has_one));
    }
}

/// One short run with both endpoints on this host.
fn run_here(bench: &Bench, words: &[&str]) -> Done {
    let run = split("test tcp --receiver local -t 200ms -O 50ms");
    bench.bitcost(&[&run[..], words].concat()).with_code(0)
}

fn cached_tcp_metrics_are_reported_and_kept() {
    let bench = Bench::new().with("BITCOST_STATE_DIR", "FOLDER/state");
    let actual = |bench: &Bench, words: &[&str]| {
        let ends = run_here(bench, words).records();
        ends.map(|end| in_effect(&end, "tcp_metrics").unwrap()[1].clone())
    };
    assert_eq!(actual(&bench, &["--json", "--samples"]), ["none", "none"]);
    converse();
    let cached = || {
        let all = bitcost_sys::netlink::cached_metrics().unwrap();
        all.unwrap_or_default()
            .contains(&Ipv4Addr::LOCALHOST.into())
    };
    if !cached() {
        bitcost_testkit::ignore("this kernel remembers nothing of connections over loopback");
    }
    let told = actual(&bench, &["--json", "--samples"]);
    assert_eq!(told, ["127.0.0.1", "127.0.0.1"]);
    // On so short a path it does not matter.
    let done = run_here(&bench, &["--verbose"]);
    assert!(!done.stdout.contains("had cached"), "{}", done.stdout);
    assert!(cached(), "it is not ours to remove");
}

/// A connection over loopback with replies; both its endpoints are closed afterwards.
fn converse() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut other, _) = listener.accept().unwrap();
    for _ in 0..20 {
        one.write_all(&[1; 500]).unwrap();
        other.read_exact(&mut [0; 500]).unwrap();
    }
    drop((one, other));
}

/// A run whose receivers have no kernel threads, so that soft interrupts do the receive work; the
/// result, both records, and what the sender's says of the means.
fn run(bench: &Bench) -> (Value, [EndpointRecord; 2], String) {
    let words = split("test udp --json --samples -t 1s --topology pair");
    let done = bench.bitcost(&words).with_code(0);
    bench.assert_nothing_left();
    let ends = done.records();
    let means = in_effect(&ends[0], SOFTIRQ_TIME).map(|[_, actual]| actual);
    (done.json(), ends, means.unwrap_or_default())
}

fn has_none(end: &EndpointRecord) -> bool {
    end.samples.iter().all(|sample| sample.softirqs.is_empty())
}

/// The endpoint called sender times the CPUs of both.
fn soft_interrupts_are_timed_where_the_kernel_permits_it() {
    let (document, [sender, receiver], means) = run(&Bench::new());
    assert!(has_none(&receiver));
    if means != SOFTIRQS_TIMED {
        bitcost_testkit::ignore(&format!("soft interrupts cannot be timed: {means}"));
    }
    let (first, last) = (&sender.samples[0], sender.samples.last().unwrap());
    for cpu in sender.pinned_cpus.iter().chain(&receiver.pinned_cpus) {
        assert!(last.softirqs.iter().any(|time| time.cpu == *cpu), "{cpu}");
    }
    for time in &last.softirqs {
        let is_same = |other: &&SoftirqTime| (other.cpu, &other.kind) == (time.cpu, &time.kind);
        let Some(earlier) = first.softirqs.iter().find(is_same) else {
            continue;
        };
        assert!(time.count >= earlier.count && time.timed >= earlier.timed);
    }
    if document["attribution"] == "own_cpus" || document["attribution"] == "softirq_ticks" {
        assert_eq!(document["softirqs"], "timed", "{document:#}");
    }
}

fn without_privilege_ticks_are_used_and_the_record_says_why() {
    if let Err(error) = unshare_user_as_root() {
        bitcost_testkit::ignore(&format!("no user namespace can be made here: {error}"));
    }
    let (document, ends, means) = run(&Bench::new());
    assert!(
        means.starts_with("ticks, because they cannot be timed: bpf(BPF_"),
        "{means}"
    );
    assert!(ends.iter().all(has_none));
    assert_ne!(document["softirqs"], "timed");
}
