//! What limited a run, where that is known by construction and no load of the machine changes it.

use serde_json::Value;

use crate::bench::Bench;

/// What `bitcost test` says of a run of a second.
fn said(words: &[&str]) -> Value {
    let bench = Bench::new();
    let done = bench.bitcost(&[&["test"], words, &["-t", "1s", "--json"]].concat());
    if done.code != Some(0) && done.stderr.contains("this kernel has no") {
        testkit::ignore(&done.stderr);
    }
    done.assert_code(0);
    let document: Value = serde_json::from_str(&done.stdout).unwrap();
    document["limiter"]["verdict"].clone()
}

/// A rate that is kept is what limits.
pub fn pacing() {
    let verdict = said(&["tcp", "-l", "1024", "--rate", "5M"]);
    assert_eq!(verdict["limiter"], "application_pacing", "{verdict:#}");
    assert!(!verdict["evidence"].as_array().unwrap().is_empty(), "{verdict:#}");
}

/// A shaper at the sender's interface is named with that interface.
pub fn shaper() {
    let verdict = said(&["tcp", "--qdisc", "sender: tbf rate 20M"]);
    assert_eq!(verdict["limiter"], "rate", "{verdict:#}");
    assert_eq!(verdict["words"], "link or shaper rate at sender h1-eth0");
    assert!(verdict["to_move_it"].as_str().unwrap().contains("raise the rate"), "{verdict:#}");
}

/// Requests and responses have no limiter of this kind, and the text says what to look at.
pub fn transactions() {
    let bench = Bench::new();
    let done = bench.bitcost(&["test", "rr", "-t", "200ms", "-O", "50ms"]);
    done.assert_code(0);
    assert!(
        done.stdout.contains("limiter: unknown") && done.stdout.contains("latency of transactions"),
        "{}",
        done.stdout
    );
}
