//! Calibration: the capacity of the lab's path is measured before the first run, logged, and
//! reported with the results.

use crate::bench::*;
use bitcost_model::calibration::Calibration;

bitcost_testkit::trials! {
    Host: path_capacity_measured_before_the_first_run, skipped_calibration_is_reported, path_too_slow_to_calibrate_has_no_capacity, resume_keeps_the_calibration;
}

/// A stream over each transport, and requests.
const STUDY: &str = r#"title = "Three transports"
question = "How far from what the path carries?"
[lab]
topology = "pair"
[workload]
warmup_s = 0.05
duration_s = 0.2
[[factor]]
name = "transport"
levels = [
  { label = "TCP", workload = "tcp_stream" },
  { label = "UDP", workload = "udp_stream", message_size_bytes = 1000 },
  { label = "requests", workload = "tcp_rr" },
]
[run]
blocks = 1
"#;

/// A link so slow that a calibration sees few packets.
const SLOW: &str = r#"title = "A slow link"
question = "What of a link that carries a packet now and then?"
[lab]
hosts = ["h1", "h2"]
[[lab.link]]
ends = ["h1", "h2"]
[lab.egress.h1-eth0]
rate = "100k"
[workload]
workload = "udp_stream"
rate_bps = "80k"
warmup_s = 0
duration_s = 0.5
[[factor]]
name = "message_size_bytes"
levels = [1000]
[run]
blocks = 1
"#;

/// Every calibration of the log, each with its position in the log.
fn calibrations(bench: &Bench) -> Vec<(usize, Calibration)> {
    let found =
        bench
            .log()
            .events
            .into_iter()
            .enumerate()
            .filter_map(|(index, event)| match event {
                Event::Calibrated { calibration } => Some((index, *calibration)),
                _ => None,
            });
    found.collect()
}

fn path_capacity_measured_before_the_first_run() {
    let bench = Bench::new();
    bench.write("three.toml", STUDY);
    let done = bench.bitcost(&["run", "three.toml", "--json"]).with_code(0);
    let events = bench.log().events;
    let first = events
        .iter()
        .position(|event| matches!(event, Event::RunBegan { .. }))
        .unwrap();
    let [(place, calibration)]: [_; 1] = calibrations(&bench).try_into().unwrap();
    let is_prepared = |event: &Event| matches!(event, Event::Prepared { .. });
    let prepared = events.iter().position(is_prepared).unwrap();
    assert!(prepared < place && place < first);
    assert!(!calibration.idle.unwrap().rtts_us.is_empty());
    let document = done.json();
    for cell in document["cells"].as_array().unwrap() {
        let is_stream = cell["levels"]["transport"] != "requests";
        let part = cell["throughput_of_capacity_pct"]["median"].as_f64();
        assert_eq!(part.is_some_and(|part| part > 0.0), is_stream, "{cell}");
    }
    let capacities = document["calibration"]["capacities"].as_array().unwrap();
    let carried = |cell: u64| {
        let of = capacities
            .iter()
            .find(|capacity| capacity["cells"][0] == cell)
            .unwrap();
        (
            of["mbps"].as_f64().is_some_and(|mbps| mbps > 0.0),
            of["absent"].is_string(),
        )
    };
    assert_eq!(
        [carried(0), carried(1), carried(2)],
        [(true, false), (true, false), (false, true)]
    );
    let execution = bench.execution();
    let shown = bench.bitcost(&["show", execution.to_str().unwrap()]);
    assert_says(
        &shown.stdout,
        &[
            "calibration: idle round trip before the first run",
            "requests: capacity not measured: ",
            "Throughput relative to path capacity (%)",
        ],
    );
}

fn skipped_calibration_is_reported() {
    let bench = Bench::new();
    bench.write("three.toml", STUDY);
    let done = bench
        .bitcost(&["run", "three.toml", "--no-calibration"])
        .with_code(0);
    let [(_, calibration)]: [_; 1] = calibrations(&bench).try_into().unwrap();
    assert_eq!(calibration, Calibration::without("--no-calibration"));
    done.assert_prints("calibration: left out (--no-calibration)");
    assert!(
        !done.stdout.contains("relative to path capacity"),
        "{}",
        done.stdout
    );
}

fn path_too_slow_to_calibrate_has_no_capacity() {
    let bench = Bench::new();
    bench.write("slow.toml", SLOW);
    let done = bench.bitcost(&["run", "slow.toml"]).with_code(0);
    let [(_, calibration)]: [_; 1] = calibrations(&bench).try_into().unwrap();
    assert_eq!(calibration.capacities.len(), 1);
    assert!(calibration.capacities[0].received.is_none());
    let words: Vec<&str> = done.stdout.split_whitespace().collect();
    assert!(
        words.join(" ").contains("too few for a rate"),
        "{}",
        done.stdout
    );
}

fn resume_keeps_the_calibration() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let running = bench.start(&["run", "small.toml"]);
    bench.wait_for_run(1);
    running.signal(Signal::KILL);
    running.finish(PATIENCE);
    let before = calibrations(&bench);
    assert_eq!(before.len(), 1);
    bench.resume();
    assert_eq!(calibrations(&bench), before);
}
