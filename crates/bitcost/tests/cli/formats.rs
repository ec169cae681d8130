//! The forms in which a log is printed, each by a recorded log. Nothing is run.

use std::process::{Command, Output, Stdio};

use bitcost_execute::store::seal_again;

/// A recorded execution.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sizes");

fn bitcost(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitcost"));
    command.args(words).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The recorded execution, changed so that an offload of its run was not as requested. The folder
/// exists as long as the value.
fn left_out() -> (tempfile::TempDir, String) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("bits");
    std::fs::create_dir(&folder).unwrap();
    let log = std::fs::read_to_string(format!("{LOG}/events.jsonl")).unwrap();
    assert!(log.contains("\"mismatched\":[]"));
    std::fs::write(
        folder.join("events.jsonl"),
        seal_again(&log.replace("\"mismatched\":[]", "\"mismatched\":[\"rx-gro\"]")),
    )
    .unwrap();
    let name = folder.to_str().unwrap().to_owned();
    (place, name)
}

#[test]
fn a_run_without_a_place_in_its_cell_is_not_in_iperf3_s_form() {
    let (_place, folder) = left_out();
    let output = bitcost(&["show", &folder, "--format", "iperf3"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        output.stdout.is_empty() && said(&output).contains("run 1 of bits is left out: "),
        "{}",
        said(&output)
    );
}

#[test]
fn iperf3_s_form_is_of_runs_of_our_own() {
    let place = tempfile::tempdir().unwrap();
    let sweep = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/udp-size-sweep.csv"
    );
    let imported = bitcost(&["import", sweep, "--out", place.path().to_str().unwrap()]);
    let folder = String::from_utf8(imported.stdout).unwrap();
    let output = bitcost(&["show", folder.trim(), "--format", "iperf3"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let said = said(&output);
    assert!(said.contains("it shows runs that bitcost made"), "{said}");
}

#[test]
fn a_run_is_named_where_one_is_printed_and_refused_elsewhere() {
    let refused = |words: &[&str], wanted: &str| {
        let output = bitcost(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(
            output.stdout.is_empty() && said(&output).contains(wanted),
            "{}",
            said(&output)
        );
    };
    refused(&["show", LOG, "--run", "1"], "--run needs --format iperf3");
    refused(
        &["show", LOG, "--format", "iperf3", "--run", "3"],
        "sizes has no run 3; its runs are 1 to 1",
    );
    refused(
        &["show", LOG, LOG, "--format", "iperf3", "--run", "1"],
        "2 executions are named; name one",
    );
    refused(
        &["test", "rr", "--format", "iperf3"],
        "iperf3 has no transactions",
    );
    let output = bitcost(&["show", LOG, "--format", "iperf3", "--run", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"timesecs\""));
}

#[test]
fn what_files_say_in_addition_to_figures_is_in_the_json() {
    let place = tempfile::tempdir().unwrap();
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../import/tests/fixtures/iperf3/iperf3-settings.json"
    );
    let imported = bitcost(&["import", file, "--out", place.path().to_str().unwrap()]);
    assert_eq!(imported.status.code(), Some(0), "{}", said(&imported));
    let folder = String::from_utf8(imported.stdout).unwrap();
    let shown = bitcost(&["show", folder.trim(), "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let runs = document["imported_runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(
        (&runs[0]["run"], &runs[0]["tool"], &runs[0]["tool_version"]),
        (&0.into(), &"iperf3".into(), &"3.12".into())
    );
    assert_eq!(runs[0]["facts"]["sndbuf_actual"], "131072");
    assert!(
        runs[0]["facts"]["mean_rtt_us"].is_string()
            && runs[0]["facts"]["cpu_host_total_pct_of_one_cpu"].is_string()
    );
    assert_eq!(runs[0]["levels"]["socket_buffer_bytes"], 65_536);
    let own = bitcost(&["show", LOG, "--json"]);
    assert!(
        !String::from_utf8(own.stdout)
            .unwrap()
            .contains("imported_runs")
    );
}
