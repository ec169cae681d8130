//! `bitcost compare` on recorded logs: which executions are compared, and the errors if
//! none can be. Nothing is run.

use bitcost_testkit::assert_says;

use std::fs;
use std::path::Path;

use crate::words::bitcost;

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sizes/events.jsonl");

/// A folder with copies of the log in folders of these names. A copy has the lines that `keep`
/// accepts.
fn copies(names: &[&str], keep: impl Fn(&str) -> bool) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let log: String = fs::read_to_string(LOG)
        .unwrap()
        .split_inclusive('\n')
        .filter(|line| keep(line))
        .collect();
    let log = bitcost_execute::store::seal_again(&log);
    for name in names {
        fs::create_dir_all(place.path().join(name)).unwrap();
        fs::write(place.path().join(name).join("events.jsonl"), &log).unwrap();
    }
    place
}

fn refused(place: &Path, words: &[&str], says: &[&str]) {
    let (code, stdout, stderr) = bitcost(place, &[&["compare"], words].concat());
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
    assert!(
        says.iter().all(|says| stderr.contains(says)),
        "{words:?}: {stderr}"
    );
}

#[test]
fn what_cannot_be_compared_is_said_with_what_can() {
    let place = copies(&["a", "b", "many/one", "many/two"], |_| true);
    let place = place.path();
    refused(
        place,
        &["a", "a"],
        &["a is named twice", "bitcost compare OLD NEW"],
    );
    refused(
        place,
        &["a", "many"],
        &["a folder that holds 2", "the newest: many/", "many/one"],
    );
    let (code, _, stderr) = bitcost(place, &["report", "a", "a"]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("a is named twice"), "{stderr}");
}

#[test]
fn a_metric_that_is_named_twice_is_compared_once() {
    let place = copies(&["a", "b"], |_| true);
    let metrics = "throughput_mbps,throughput_mbps";
    let (_, stdout, stderr) = bitcost(
        place.path(),
        &["compare", "a", "b", "--metric", metrics, "--format", "json"],
    );
    let document: serde_json::Value = serde_json::from_str(&stdout).expect(&stderr);
    assert_eq!(document["cells"][0]["changes"].as_array().unwrap().len(), 1);
}

#[test]
fn an_execution_without_results_fails_where_worse_does() {
    let (old, new) = (
        copies(&["old"], |_| true),
        copies(&["new"], |line| !line.contains("\"event\":\"run_ended\"")),
    );
    let place = tempfile::tempdir().unwrap();
    for (from, name) in [(&old, "old"), (&new, "new")] {
        fs::rename(from.path().join(name), place.path().join(name)).unwrap();
    }
    let (code, stdout, stderr) = bitcost(
        place.path(),
        &["compare", "old", "new", "--fail-on", "worse"],
    );
    assert_eq!(code, Some(1), "{stdout}\n{stderr}");
    assert_says(
        &stderr,
        &[" missing: the new side lacks values that the old side has"],
    );
    assert!(stdout.contains("not made"), "{stdout}");
    let code = |words: &[&str]| bitcost(place.path(), words).0;
    let worse = ["--fail-on", "worse"];
    assert_eq!(
        code(&[&["compare", "new", "old"], &worse[..]].concat()),
        Some(4),
        "an old side without a value cannot tell"
    );
}
