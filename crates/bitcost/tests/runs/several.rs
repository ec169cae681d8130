//! A study that one command executes several times.

use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::bench::{Bench, PATIENCE, SMALL, log_file};
use bitcost_testkit::process::eventually;

bitcost_testkit::trials! {
    Host: a_study_is_executed_several_times, an_interrupted_pause_keeps_what_is_done;
}

/// The folders of all executions.
fn executions(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("bitcost-runs"));
    let entries = entries.into_iter().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn a_study_is_executed_several_times() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let words = "run small.toml --executions 2 --pause 10ms --no-calibration --blocks 1 --json";
    let done = bench.bitcost(&words.split(' ').collect::<Vec<_>>());
    done.assert_code(0);
    let folders = executions(bench.path());
    assert_eq!(folders.len(), 2);
    assert!(folders.iter().all(|folder| log_file(folder).exists()));
    let documents = done.json();
    assert_eq!(documents.as_array().map(Vec::len), Some(2), "{documents}");
    for folder in &folders {
        let name = folder.file_name().unwrap().to_str().unwrap();
        done.assert_says(&format!("execution: bitcost-runs/{name}"));
    }
    bench.assert_nothing_left();
}

fn an_interrupted_pause_keeps_what_is_done() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let words = "run small.toml --executions 3 --pause 1h --no-calibration --blocks 1";
    let running = bench.start(&words.split(' ').collect::<Vec<_>>());
    eventually(PATIENCE, "the pause", || {
        running.stderr().contains("pause of").then_some(())
    });
    running.signal(Signal::INT);
    let done = running.finish(PATIENCE);
    done.assert_code(130);
    done.assert_prints("Throughput (Mbit/s");
    done.assert_says("execution: bitcost-runs/");
    assert_eq!(executions(bench.path()).len(), 1);
    bench.assert_nothing_left();
}
