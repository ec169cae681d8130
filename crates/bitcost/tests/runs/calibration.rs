//! What is measured before the first run: the constants of the machine, and the round trip of a lab with a delay.

use crate::bench::*;
use bitcost_model::constants::MachineConstants;

bitcost_testkit::trials! {
    Host: constants_and_round_trip_measured_before_the_first_run, skipped_constants_are_not_measured;
}

/// A lab with a delay of 2 ms.
const DELAYED: &str = r#"title = "A delay"
question = "What is measured before the first run?"
[lab]
hosts = ["h1", "h2"]
[[lab.link]]
ends = ["h1", "h2"]
[lab.egress.h1-eth0]
delay = "2ms"
[workload]
warmup_s = 0.05
duration_s = 0.2
[[factor]]
name = "message_size_bytes"
levels = [1000]
[run]
blocks = 1
"#;

/// The constants in the log, each with its position in it.
pub fn constants(bench: &Bench) -> Vec<(usize, Vec<MachineConstants>)> {
    let events = bench.log().events.into_iter().enumerate();
    let found = events.filter_map(|(index, event)| match event {
        Event::Constants { machines } => Some((index, machines)),
        _ => None,
    });
    found.collect()
}

fn constants_and_round_trip_measured_before_the_first_run() {
    let bench = Bench::new();
    bench.write("delayed.toml", DELAYED);
    let done = bench
        .bitcost(&["run", "delayed.toml", "--json"])
        .with_code(0);
    let events = bench.log().events;
    let is_first = |event: &Event| matches!(event, Event::RunBegan { .. });
    let first = events.iter().position(is_first).unwrap();
    let [(place, _)]: [_; 1] = constants(&bench).try_into().unwrap();
    let is_prepared = |event: &Event| matches!(event, Event::Prepared { .. });
    let prepared = events.iter().position(is_prepared).unwrap();
    assert!(prepared < place && place < first);
    let least_us = done.json()["idle_rtt_us"]["min_us"].as_f64();
    assert!(least_us.is_some_and(|us| us >= 2000.0), "{least_us:?}");
    let execution = bench.execution();
    let shown = bench.bitcost(&["show", execution.to_str().unwrap()]);
    assert_says(&shown.stdout, &["idle round trip: ", "host constants: "]);
}

fn skipped_constants_are_not_measured() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let done = bench
        .bitcost(&["run", "small.toml", "--no-calibration", "--blocks", "1"])
        .with_code(0);
    assert_eq!(constants(&bench), []);
    assert!(!done.stdout.contains("host constants"), "{}", done.stdout);
}
