//! `bitcost history` on recorded logs: what is refused, and that nothing is written then. Nothing is run.

use std::fs;
use std::path::Path;

use crate::words::bitcost;

/// A recorded execution.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/older/events.jsonl");

/// A folder with copies of the log in folders of these names.
fn copies(names: &[&str]) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for name in names {
        fs::create_dir_all(place.path().join(name)).unwrap();
        fs::copy(LOG, place.path().join(name).join("events.jsonl")).unwrap();
    }
    place
}

fn refused(place: &Path, words: &[&str], says: &str) {
    let words = [&["history"], words].concat();
    let (code, stdout, stderr) = bitcost(place, &words);
    assert_eq!(
        (code, stdout.as_str()),
        (Some(2), ""),
        "{words:?}: {stderr}"
    );
    assert!(stderr.contains(says), "{words:?}: {stderr}");
}

#[test]
fn what_has_no_history_is_refused() {
    let place = copies(&["a", "b", "c"]);
    let place = place.path();
    refused(place, &[], "FOLDER");
    refused(
        place,
        &["a"],
        "1 execution was named, and a history needs at least 3",
    );
    refused(place, &["a", "b"], "2 executions were named");
    refused(place, &["a", "b", "./a/"], "named twice");
    refused(place, &["a", "b", "none"], "none");
    refused(
        place,
        &["a", "b", "c", "--metric", "speed"],
        "`speed` is not a metric",
    );
    let log = fs::read_to_string(LOG).unwrap();
    fs::write(
        place.join("c/events.jsonl"),
        log.replacen("\"plan\":", "\"plan", 1),
    )
    .unwrap();
    refused(place, &["a", "b", "c"], "events.jsonl:2: not an event");
}

#[test]
fn an_older_log_has_a_history_in_every_form() {
    let place = copies(&["a", "b", "c", "d"]);
    let words = ["history", "a", "b", "c", "d", "--fail-on", "worse"];
    for more in [&[][..], &["--format", "md"], &["--format", "json"]] {
        let words = [&words[..], more].concat();
        let (code, stdout, stderr) = bitcost(place.path(), &words);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stdout.contains("began at the same time"), "{stdout}");
    }
}
