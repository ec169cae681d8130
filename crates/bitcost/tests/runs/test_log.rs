//! The document and the log of `bitcost test`, also of one that Ctrl-C ended.

use crate::bench::*;

bitcost_testkit::trials! {
    Host: json_is_a_summary, samples_are_printed_where_asked_for, interrupted_repeats_keep_their_runs, interrupted_test_says_what_it_does_not_know, a_full_disk_takes_the_log_alone;
}

const SHORT: [&str; 6] = ["test", "tcp", "-t", "300ms", "-O", "50ms"];

/// The summary says what ran where, and is at most 40 KB with flows and other workloads.
fn json_is_a_summary() {
    let bench = Bench::new();
    let several = "-P 8 --both --background rr --background udp-rr --background crr";
    for more in ["", "--until-interval 100% --repeats 3-3", several] {
        let more: Vec<&str> = more.split_whitespace().collect();
        let done = bench
            .bitcost(&[&SHORT[..], &["--json"], &more[..]].concat())
            .with_code(0);
        assert!(done.stdout.len() <= 40_000, "{} bytes", done.stdout.len());
        let document = done.json();
        let places = "/format /bitcost_version /began_at /hosts/sender/kernel /hosts/receiver/host_name /in_effect/sender/congestion_control /lab /bytes/received /seconds \
             /caveats /bottleneck/evidence /cells/0/throughput_mbps/median /cells/0/retransmits/median /cells/0/sender_cpu_util_pct/median /cells/0/receiver_cpu_util_pct/median";
        for place in places.split(' ') {
            let found = document.pointer(place);
            assert!(found.is_some(), "{place}: {document:#}");
        }
        assert!(document.get("records").is_none(), "{document:#}");
    }
    bench.assert_nothing_left();
}

fn samples_are_printed_where_asked_for() {
    let bench = Bench::new();
    let done = bench
        .bitcost(&[&SHORT[..], &["--no-log", "--json", "--samples"]].concat())
        .with_code(0);
    let document = done.json();
    let samples = document.pointer("/records/0/sender/samples").unwrap();
    assert!(samples.as_array().unwrap().len() >= 2, "{document:#}");
    assert!(bench.contents().is_empty(), "{:?}", bench.contents());
    bench.assert_nothing_left();
}

/// Ctrl-C comes in the third of many runs: the first two are printed and logged. In the first run, only the log is kept.
fn interrupted_repeats_keep_their_runs() {
    let bench = Bench::new();
    let running = bench.start(&split("test tcp -t 30 --until-interval 100% --repeats 2-2"));
    bench.wait_for_run(&running, 0);
    running.signal_group(Signal::INT);
    let done = running.finish(PATIENCE).with_code(130);
    done.assert_says("no run was complete: nothing but the log is kept");
    assert!(!done.stderr.contains("what was measured"), "{done:?}");
    assert!(bench.execution().exists());
    bench.assert_nothing_left();
    let bench = Bench::new();
    let repeats = split("--until-interval 0.000001% --repeats 30-30 --json");
    let running = bench.start(&[&SHORT[..], &repeats].concat());
    bench.wait_for_run(&running, 2);
    running.signal_group(Signal::INT);
    let done = running.finish(PATIENCE).with_code(130);
    let printed: Value = done.json();
    let made = printed["runs"].as_u64().unwrap();
    assert!((2..30).contains(&made), "{made} runs");
    let shown = bench
        .bitcost(&["show", "--json", bench.execution().to_str().unwrap()])
        .with_code(0);
    assert_eq!(shown.json()["cells"][0]["runs"], printed["runs"]);
    bench.assert_nothing_left();
}

/// What was measured is printed where the log has no room for it.
fn a_full_disk_takes_the_log_alone() {
    let bench = Bench::new();
    // A limit on the size of files fails a write in the middle, as a full disk does.
    let words = "trap '' XFSZ; ulimit -f 100; exec \"$0\" test tcp -b 5M -t 3";
    let words = ["-c", words, env!("CARGO_BIN_EXE_bitcost")];
    let output = bench.command(Path::new("sh"), &words).output().unwrap();
    let [printed, said] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_says(&printed, &["    3 s  ", "throughput "]);
    assert_says(&said, &["cannot write bitcost-runs/", "--out FOLDER"]);
    assert!(!said.contains("print again"), "{said}");
    bench.assert_nothing_left();
}

fn interrupted_test_says_what_it_does_not_know() {
    let bench = Bench::new();
    let running = bench.start(&["test", "tcp", "-t", "30"]);
    bench.wait_for_run(&running, 0);
    // Both ways are right; this makes it likely that there are readings.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    running.signal_group(Signal::INT);
    let done = running.finish(PATIENCE).with_code(130);
    bench.assert_nothing_left();
    if done.stderr.contains("before anything was measured") {
        assert!(bench.contents().is_empty(), "{:?}", bench.contents());
        return;
    }
    let until = " of 30 s: stopped by the user";
    done.assert_prints("interrupted after ");
    let printed = one_line(&done.stdout);
    assert_says(&printed, &[until, "bit/s", "cost "]);
    let folder = bench.execution();
    let shown = bench
        .bitcost(&["show", "--json", folder.to_str().unwrap()])
        .with_code(0);
    let shown = shown.json();
    assert_eq!(shown["cells"][0]["runs"], 1);
    let caveats = shown["caveats"].to_string();
    assert_says(&caveats, &["interrupted after ", until]);
}
