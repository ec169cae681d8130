//! `bitcost bill`: parts that sum to the whole, parts that cannot be measured, and the log.

use serde_json::Value;

use crate::bench::Bench;

bitcost_testkit::trials! {
    Host: parts_sum_to_the_whole, part_that_cannot_be_measured_says_why, bill_refuses_what_it_cannot_divide;
}

/// Two blocks of short runs.
const SHORT: &str = "-t 100ms -O 20ms --until-interval 100% --repeats 2-2 --state-budget 0";

fn bill(bench: &Bench, words: &str) -> crate::bench::Done {
    let words = format!("bill {words} {SHORT}");
    bench.bitcost(&words.split(' ').collect::<Vec<_>>())
}

/// The parts of an end that were measured, and the rest, in µs.
fn parts(end: &Value) -> Vec<f64> {
    let parts = end["parts"].as_array().expect("parts");
    let all = parts.iter().chain([&end["unexplained"]]);
    all.filter_map(|part| part["us"].as_f64()).collect()
}

/// At each end whose CPU time is known the parts and the rest are the whole; the log has the same
/// bill.
fn parts_sum_to_the_whole() {
    let bench = Bench::new();
    let done = bill(&bench, "tcp -l 4K --send-work 2000 --json");
    let document: Value = serde_json::from_str(&done.stdout).expect("JSON");
    let ends = &document["bill"]["ends"];
    let mut known = 0;
    for end in ["sender", "receiver"] {
        let Some(whole) = ends[end]["whole"]["us"].as_f64() else {
            // On a busy machine the CPU time of each end is not known.
            assert!(ends[end]["whole"]["not_measured"].is_string(), "{ends}");
            continue;
        };
        known += 1;
        let sum: f64 = parts(&ends[end]).iter().sum();
        assert!((sum - whole).abs() < 1e-9 * whole.max(1.0), "{ends}");
    }
    done.assert_code(if known > 0 { 0 } else { 1 });
    let folder = document["log"].as_str().expect("a log");
    let folder = folder.strip_suffix("/events.jsonl").expect("a folder");
    let again = bench.bitcost(&["show", folder, "--json"]);
    again.assert_code(0);
    let again: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(again["bill"], document["bill"]);
    let text = bench.bitcost(&["show", folder]).stdout;
    for row in ["whole", "the program's work", "unexplained"] {
        assert!(text.contains(row), "{text}");
    }
    let page = bench.bitcost(&["show", folder, "--format", "html"]).stdout;
    assert!(page.contains("CPU time of a KiB by part"), "no picture");
    bench.assert_nothing_left();
}

/// UDP has no mode without copies; the other parts are measured all the same.
fn part_that_cannot_be_measured_says_why() {
    let bench = Bench::new();
    let done = bill(&bench, "udp");
    let why = "not measured: copies: UDP has no mode without copies";
    done.assert_prints(why);
    done.assert_prints("unexplained");
    bench.assert_nothing_left();
}

fn bill_refuses_what_it_cannot_divide() {
    let bench = Bench::new();
    for (words, why) in [
        ("crr", "tcp, udp and rr"),
        ("tcp --both", "one workload in one direction"),
        ("tcp --mode auto", "--mode cannot be used with `bill`"),
        ("tcp -n 10M", "end after a time"),
    ] {
        let done = bill(&bench, words);
        done.assert_code(2);
        assert!(done.stderr.contains(why), "{words}: {}", done.stderr);
    }
}
