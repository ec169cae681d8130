//! Many flows, and totals of bytes, from the command line to the record.

use crate::bench::*;
use bitcost_model::record::{Counts, ThreadKind, ThreadTime};

bitcost_testkit::trials! {
    Host: totals_are_exact_over_any_path, hundred_flows_add_up;
}

/// One run between two hosts without a wire, on which little is lost; returns both records, and the
/// records.
fn run(test: &str, words: &[&str]) -> [EndpointRecord; 2] {
    let bench = Bench::new();
    let words = [
        &["test", test, "--json", "--samples", "--topology", "pair"],
        words,
    ]
    .concat();
    let done = bench.bitcost(&words).with_code(0);
    bench.assert_nothing_left();
    done.records()
}

/// A path of 20 Mbit/s.
const SLOW: &str = r#"hosts = ["h1", "h2"]
[[link]]
ends = ["h1", "h2"]
rate = "20M"
delay = "5ms"
"#;

fn totals_are_exact_over_any_path() {
    let folder = tempfile::tempdir().unwrap();
    let lab = folder.path().join("slow.toml");
    std::fs::write(&lab, SLOW).unwrap();
    let slow = ["--topology", lab.to_str().unwrap()];
    let flows = ["-P", "3", "-R"];
    for (words, bytes) in [
        (vec!["-n", "100M"], 100 << 20),
        ([&["-n", "100000001"], &flows[..]].concat(), 100_000_001),
        ([&["-n", "2M"], &slow[..]].concat(), 2 << 20),
        ([&["-n", "1MiB"], &slow[..], &flows[..]].concat(), 1_048_576),
    ] {
        let bench = Bench::new();
        let test = [&["test", "tcp", "--json", "--samples"], &words[..]].concat();
        let done = bench.bitcost(&test).with_code(0);
        for end in done.records() {
            assert_eq!(
                end.counts.total().bytes,
                bytes,
                "{words:?}: {}",
                end.role.name()
            );
        }
    }
}

fn totals(end: &EndpointRecord) -> Vec<Counts> {
    end.flows.iter().map(|flow| flow.counts.total()).collect()
}

/// Asserts that the data of each flow arrived or is known to be lost, and that the totals are the
/// sums of the flows.
fn adds_up([sender, receiver]: &[EndpointRecord; 2], flows: usize) {
    for end in [sender, receiver] {
        assert_eq!(end.flows.len(), flows);
        let sum = totals(end)
            .iter()
            .fold(Counts::default(), |sum, counts| sum.plus(counts));
        assert_eq!(sum, end.counts.total());
        let is_traffic = |thread: &&ThreadTime| thread.kind == ThreadKind::Traffic;
        let threads = end.samples[0].threads.iter().filter(is_traffic);
        assert_eq!(threads.count(), flows, "a thread for each flow");
    }
    for (index, (sent, came)) in totals(sender).iter().zip(totals(receiver)).enumerate() {
        match receiver.flows[index].sequence {
            Some(sequence) => assert_eq!(
                sent.messages,
                came.messages + sequence.total_lost,
                "flow {index}"
            ),
            None => assert!(came.bytes <= sent.bytes, "flow {index}: {sent:?}, {came:?}"),
        }
    }
}

fn hundred_flows_add_up() {
    let many = ["-P", "100", "-l", "1000"];
    let timed = run("udp", &[&many[..], &["-t", "500ms"]].concat());
    adds_up(&timed, 100);
    let timed = run("tcp", &[&many[..], &["-t", "500ms"]].concat());
    adds_up(&timed, 100);
    let bounded = run("tcp", &[&many[..], &["-n", "1000250"]].concat());
    adds_up(&bounded, 100);
    let shares = totals(&bounded[0]).into_iter().map(|counts| counts.bytes);
    assert!(shares.clone().all(|bytes| bytes.abs_diff(10_002) <= 1000));
    let measured = bounded.each_ref().map(|end| end.counts.measured.bytes);
    assert_eq!(measured, [1_000_250; 2]);
    let bounded = run("udp", &[&many[..], &["-k", "1234"]].concat());
    adds_up(&bounded, 100);
    assert_eq!(bounded[0].counts.measured.messages, 1234);
}
