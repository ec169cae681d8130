//! The log of `bitcost test`: every verb that reads executions opens it, and it has what was
//! measured before Ctrl-C.

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, PATIENCE, log_file, split};

bitcost_testkit::trials! {
    Host: test_log_opens_with_the_same_figures, json_is_a_summary, samples_are_printed_where_asked_for, interrupted_repeats_keep_their_runs, interrupted_test_says_what_it_does_not_know;
}

const SHORT: [&str; 6] = ["test", "tcp", "-t", "300ms", "-O", "50ms"];

fn test_log_opens_with_the_same_figures() {
    let bench = Bench::new();
    let done = bench.bitcost(&[&SHORT[..], &["--json"]].concat());
    done.assert_code(0);
    let printed = done.json();
    let folder = bench.execution();
    let folder = folder.to_str().unwrap();
    done.assert_says("print again: bitcost show");

    let shown = bench.bitcost(&["show", "--rows", "runs", "--json", folder]);
    shown.assert_code(0);
    let row = shown.json()[0].clone();
    for metric in ["throughput_mbps", "send_throughput_mbps"] {
        assert!(
            printed["cells"][0][metric]["median"].is_number(),
            "{printed:#}"
        );
        assert_eq!(
            row[metric], printed["cells"][0][metric]["median"],
            "{row:#}"
        );
    }

    let document = bench.bitcost(&["show", "--json", folder]).json();
    let path = "/cells/0/throughput_mbps/median";
    assert_eq!(document.pointer(path), printed.pointer(path));
    let events = std::fs::read_to_string(log_file(bench.execution().as_path())).unwrap();
    let lines = events.lines().rev();
    let mut events = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let last = events.find(|event| event["event"] == "summarized").unwrap();
    assert_eq!(last.pointer(path), printed.pointer(path));

    let explained = bench.bitcost(&["explain", "--json", folder]);
    explained.assert_code(0);
    assert_eq!(
        explained.json()["cells"][0]["verdict"]["limiter"],
        printed["bottleneck"]["limiter"]
    );

    bench.bitcost(&["report", folder]).assert_code(0);
    let other = bench.bitcost(&[&SHORT[..], &["--out", "other"]].concat());
    other.assert_code(0);
    let other = std::fs::read_dir(bench.path().join("other"));
    let other = other.unwrap().next().unwrap().unwrap().path();
    let compared = bench.bitcost(&["compare", folder, other.to_str().unwrap()]);
    compared.assert_code(0);
    bench.assert_nothing_left();
}

/// The summary says what ran where, and is at most 40 KB with flows and other workloads.
fn json_is_a_summary() {
    let bench = Bench::new();
    let several = "-P 8 --both --background rr --background udp-rr --background crr";
    for more in ["", "--until-interval 100% --repeats 3-3", several] {
        let more: Vec<&str> = more.split_whitespace().collect();
        let done = bench.bitcost(&[&SHORT[..], &["--json"], &more[..]].concat());
        done.assert_code(0);
        assert!(done.stdout.len() <= 40_000, "{} bytes", done.stdout.len());
        let document = done.json();
        for place in [
            "/format",
            "/bitcost_version",
            "/began_at",
            "/hosts/sender/kernel",
            "/hosts/receiver/host_name",
            "/congestion_control",
            "/lab",
            "/bytes/received",
            "/seconds",
            "/caveats",
            "/bottleneck/evidence",
            "/cells/0/throughput_mbps/median",
            "/cells/0/retransmits/median",
            "/cells/0/sender_cpu_util_pct/median",
            "/cells/0/receiver_cpu_util_pct/median",
        ] {
            let found = document.pointer(place);
            assert!(found.is_some(), "{place}: {document:#}");
        }
        assert!(document.get("records").is_none(), "{document:#}");
    }
    bench.assert_nothing_left();
}

fn samples_are_printed_where_asked_for() {
    let bench = Bench::new();
    let done = bench.bitcost(&[&SHORT[..], &["--no-log", "--json", "--samples"]].concat());
    done.assert_code(0);
    let document = done.json();
    let samples = document.pointer("/records/0/sender/samples").unwrap();
    assert!(samples.as_array().unwrap().len() >= 2, "{document:#}");
    assert!(bench.contents().is_empty(), "{:?}", bench.contents());
    let refused = bench.bitcost(&[&SHORT[..], &["--samples"]].concat());
    refused.assert_code(2);
    refused.assert_says("--samples needs --json");
    bench.assert_nothing_left();
}

/// Ctrl-C comes in the third of many runs: the first two are printed and logged.
fn interrupted_repeats_keep_their_runs() {
    let bench = Bench::new();
    let repeats = split("--until-interval 0.000001% --repeats 30-30 --json");
    let running = bench.start(&[&SHORT[..], &repeats].concat());
    bench.wait_for_run(2);
    running.signal_group(Signal::INT);
    let done = running.finish(PATIENCE);
    done.assert_code(130);
    let printed: Value = done.json();
    let made = printed["runs"].as_u64().unwrap();
    assert!((2..30).contains(&made), "{made} runs");
    let shown = bench.bitcost(&["show", "--json", bench.execution().to_str().unwrap()]);
    shown.assert_code(0);
    assert_eq!(shown.json()["cells"][0]["runs"], printed["runs"]);
    bench.assert_nothing_left();
}

fn interrupted_test_says_what_it_does_not_know() {
    let bench = Bench::new();
    let running = bench.start(&["test", "tcp", "-t", "30"]);
    bench.wait_for_run(0);
    // Both ways are right; this makes it likely that there are readings.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    running.signal_group(Signal::INT);
    let done = running.finish(PATIENCE);
    done.assert_code(130);
    bench.assert_nothing_left();
    if done.stderr.contains("before anything was measured") {
        assert!(bench.contents().is_empty(), "{:?}", bench.contents());
        return;
    }
    let until = "the run was stopped before its end; until then sender ";
    done.assert_says(until);
    let folder = bench.execution();
    let shown = bench.bitcost(&["show", "--json", folder.to_str().unwrap()]);
    shown.assert_code(0);
    let shown = shown.json();
    assert_eq!(shown["cells"][0]["runs"], 0);
    let reason = shown["excluded"][0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("interrupted: ") && reason.contains("; until then the sender sent "),
        "{reason}"
    );
}
