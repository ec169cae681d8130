//! Apache Otava finds a change in the table of runs, by the configuration of docs/howto/otava.md.

use std::process::Command;

use serde_json::Value;

use crate::bench::Bench;

bitcost_testkit::trials! {
    Host: otava_finds_the_execution_from_which_throughput_is_lower;
}

const RESULT: &str = include_str!("../../../import/tests/fixtures/iperf3/iperf3-tcp.json");
const PAGE: &str = include_str!("../../../../docs/howto/otava.md");
const CHANGED_AT: u64 = 5;

/// Imports results of which each began a minute after the one before, and the last three carried half
/// of the data; returns their folder.
fn import(bench: &Bench, minute: u64) -> String {
    let mut result: Value = serde_json::from_str(RESULT).unwrap();
    let began = &mut result["start"]["timestamp"]["timesecs"];
    *began = (began.as_u64().unwrap() + 60 * minute).into();
    let share = if minute < CHANGED_AT {
        100 + minute % 3
    } else {
        50
    };
    let bytes = &mut result["end"]["sum_received"]["bytes"];
    *bytes = (bytes.as_u64().unwrap() / 100 * share).into();
    bench.write("result.json", &result.to_string());
    let done = bench.bitcost(&["import", "result.json", "--out", &minute.to_string()]);
    done.assert_code(0);
    done.stdout.trim().to_owned()
}

fn otava_finds_the_execution_from_which_throughput_is_lower() {
    if Command::new("otava").arg("--help").output().is_err() {
        bitcost_testkit::ignore("there is no otava here (pip install apache-otava)");
    }
    let bench = Bench::new();
    let folders: Vec<String> = (0..8).map(|minute| import(&bench, minute)).collect();
    let mut show = vec!["show", "--format", "csv"];
    show.extend(folders.iter().map(String::as_str));
    bench.write("tcp.csv", &bench.bitcost(&show).stdout);
    let config = PAGE
        .split("```")
        .find_map(|part| part.strip_prefix("yaml\n"));
    bench.write("otava.yaml", config.expect("the page has a configuration"));
    let mut otava = Command::new("otava");
    otava
        .args(["analyze", "tcp", "--output", "json"])
        .current_dir(bench.path());
    let done = otava.env("OTAVA_CONFIG", "otava.yaml").output().unwrap();
    let found: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let [point] = &found["tcp"].as_array().unwrap()[..] else {
        panic!("{found:#}")
    };
    assert_eq!(point["changes"][0]["index"], CHANGED_AT, "{found:#}");
}
