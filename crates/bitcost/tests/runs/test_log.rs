//! The log of `bitcost test`: every verb that reads executions opens it, and it has what was
//! measured before Ctrl-C.

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, PATIENCE};

bitcost_testkit::trials! {
    Host: test_log_opens_with_the_same_figures, no_log_leaves_nothing, interrupted_repeats_keep_their_runs;
}

const SHORT: [&str; 6] = ["test", "tcp", "-t", "300ms", "-O", "50ms"];

fn test_log_opens_with_the_same_figures() {
    let bench = Bench::new();
    let done = bench.bitcost(&[&SHORT[..], &["--json"]].concat());
    done.assert_code(0);
    let printed = done.json();
    let folder = bench.execution();
    let folder = folder.to_str().unwrap();
    assert!(
        done.stderr.contains("again: bitcost show"),
        "{}",
        done.stderr
    );

    let shown = bench.bitcost(&["show", "--rows", "runs", "--json", folder]);
    shown.assert_code(0);
    let row = shown.json()[0].clone();
    for metric in ["throughput_mbps", "send_throughput_mbps"] {
        assert!(printed["metrics"][metric].is_number(), "{printed:#}");
        assert_eq!(row[metric], printed["metrics"][metric], "{row:#}");
    }

    let explained = bench.bitcost(&["explain", "--json", folder]);
    explained.assert_code(0);
    assert_eq!(
        explained.json()["cells"][0]["verdict"]["limiter"],
        printed["limiter"]["verdict"]["limiter"]
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

fn no_log_leaves_nothing() {
    let bench = Bench::new();
    let done = bench.bitcost(&[&SHORT[..], &["--no-log", "--json"]].concat());
    done.assert_code(0);
    assert!(done.json()["metrics"]["throughput_mbps"].is_number());
    assert!(!done.stderr.contains("log:"), "{}", done.stderr);
    assert!(bench.contents().is_empty(), "{:?}", bench.contents());
    bench.assert_nothing_left();
}

/// Ctrl-C comes in the third of many runs: the first two are printed and logged.
fn interrupted_repeats_keep_their_runs() {
    let bench = Bench::new();
    let repeats = [
        "--until-interval",
        "0.000001%",
        "--repeats",
        "30-30",
        "--json",
    ];
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
