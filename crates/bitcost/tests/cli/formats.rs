//! The forms in which a log is printed, each by a recorded log. Nothing is run.

use std::path::Path;

use bitcost_execute::store::seal_again;
use bitcost_testkit::assert_says;

use crate::words::Said;

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sizes");

fn bitcost(words: &[&str]) -> Said {
    crate::words::bitcost(Path::new("."), words)
}

/// Refuses with this code and these words, and prints nothing.
fn refused(words: &[&str], expected: i32, says: &str) {
    let (code, stdout, stderr) = bitcost(words);
    assert_eq!((code, stdout.as_str()), (Some(expected), ""), "{stderr}");
    assert_says(&stderr, &[says]);
}

fn imported(place: &Path, file: &str) -> String {
    let (code, stdout, stderr) = bitcost(&["import", file, "--out", place.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{stderr}");
    stdout.trim().to_owned()
}

/// The recorded execution, changed so that an offload of its run was not as requested. The folder
/// exists as long as the value.
fn left_out() -> (tempfile::TempDir, String) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("bits");
    std::fs::create_dir(&folder).unwrap();
    let log = std::fs::read_to_string(format!("{LOG}/events.jsonl")).unwrap();
    assert!(log.contains("\"active\":{\"rx-gro\":true"));
    std::fs::write(
        folder.join("events.jsonl"),
        seal_again(&log.replace(
            "\"active\":{\"rx-gro\":true",
            "\"active\":{\"rx-gro\":false",
        )),
    )
    .unwrap();
    let name = folder.to_str().unwrap().to_owned();
    (place, name)
}

#[test]
fn a_run_without_a_place_in_its_cell_is_not_in_iperf3_s_form() {
    let (_place, folder) = left_out();
    let words = ["show", &folder, "--format", "iperf3"];
    refused(&words, 1, "the run of bits is left out: ");
}

#[test]
fn iperf3_s_form_is_of_runs_of_our_own() {
    let place = tempfile::tempdir().unwrap();
    let sweep = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/udp-size-sweep.csv"
    );
    let folder = imported(place.path(), sweep);
    let words = ["show", &folder, "--format", "iperf3"];
    refused(&words, 2, "it shows runs that bitcost made");
}

#[test]
fn the_interval_of_a_single_run_has_the_level_that_its_program_gives() {
    let place = tempfile::tempdir().unwrap();
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../import/tests/fixtures/reported/confidence.csv"
    );
    let folder = imported(place.path(), file);
    let text = bitcost(&["show", &folder]).1;
    assert_says(&text, &["the interval that its program gives (99 %)."]);
    let json = bitcost(&["show", &folder, "--json"]).1;
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let level = &document["cells"][0]["transactions_per_second"]["level_pct"];
    assert_eq!(level.as_f64(), Some(99.0), "{json}");
}

#[test]
fn what_files_say_in_addition_to_figures_is_in_the_json() {
    let place = tempfile::tempdir().unwrap();
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../import/tests/fixtures/iperf3/iperf3-settings.json"
    );
    let folder = imported(place.path(), file);
    let (_, shown, _) = bitcost(&["show", &folder, "--json"]);
    let document: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let [run] = &document["imported_runs"].as_array().unwrap()[..] else {
        panic!("{document:#}")
    };
    assert_eq!((&run["run"], &run["tool"]), (&0.into(), &"iperf3".into()));
    assert_eq!(run["levels"]["socket_buffer_bytes"], 65_536);
    assert!(
        !bitcost(&["show", LOG, "--json"])
            .1
            .contains("imported_runs")
    );
}
