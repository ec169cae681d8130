//! Apache Otava finds a change in what `bitcost show FOLDER... --format csv` prints, as
//! docs/howto/otava.md says.

use std::process::Command;

use serde_json::Value;

use crate::bench::Bench;

bitcost_testkit::trials! {
    Host: otava_finds_the_execution_from_which_throughput_is_lower;
}

const RESULT: &str = include_str!("../../../import/tests/fixtures/iperf3/iperf3-tcp.json");

/// What docs/howto/otava.md has.
const PAGE: &str = include_str!("../../../../docs/howto/otava.md");

const EXECUTIONS: u64 = 8;
const CHANGED_AT: u64 = 5;

/// Imports a result that began so many minutes after the recorded one; the last have half of its
/// bytes.
fn import(bench: &Bench, minute: u64) {
    let mut result: Value = serde_json::from_str(RESULT).unwrap();
    let began = &mut result["start"]["timestamp"]["timesecs"];
    *began = (began.as_u64().unwrap() + 60 * minute).into();
    let bytes = &mut result["end"]["sum_received"]["bytes"];
    let share = if minute < CHANGED_AT {
        100 + minute % 3
    } else {
        50
    };
    *bytes = (bytes.as_u64().unwrap() / 100 * share).into();
    bench.write("result.json", &result.to_string());
    let out = format!("runs/{minute}");
    bench
        .bitcost(&["import", "result.json", "--out", &out])
        .assert_code(0);
}

fn otava_finds_the_execution_from_which_throughput_is_lower() {
    if Command::new("otava").arg("--help").output().is_err() {
        bitcost_testkit::ignore("there is no otava here (pip install apache-otava)");
    }
    let bench = Bench::new();
    (0..EXECUTIONS).for_each(|minute| import(&bench, minute));
    let folders = (0..EXECUTIONS).map(|minute| {
        let mut inside = std::fs::read_dir(bench.path().join(format!("runs/{minute}"))).unwrap();
        inside.next().unwrap().unwrap().path().display().to_string()
    });
    let folders: Vec<String> = folders.collect();
    let mut show = vec!["show", "--format", "csv"];
    show.extend(folders.iter().map(String::as_str));
    bench.write("tcp.csv", &bench.bitcost(&show).stdout);
    let config = PAGE
        .split("```")
        .find_map(|part| part.strip_prefix("yaml\n"));
    bench.write("otava.yaml", config.expect("the page has a configuration"));
    let done = Command::new("otava")
        .args(["analyze", "tcp", "--output", "json"])
        .env("OTAVA_CONFIG", "otava.yaml")
        .current_dir(bench.path())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&done.stdout);
    let said = String::from_utf8_lossy(&done.stderr);
    let found: Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}{said}"));
    let points = found["tcp"].as_array().unwrap();
    let changes: Vec<&Value> = points.iter().map(|point| &point["changes"]).collect();
    assert_eq!(changes.len(), 1, "{found:#}");
    assert_eq!(changes[0][0]["metric"], "throughput");
    assert_eq!(changes[0][0]["index"], CHANGED_AT);
}
