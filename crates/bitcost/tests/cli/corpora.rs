//! Gives every file of the fuzz targets' corpora to its target, so that a fault that was found once
//! does not return, and to the importers what their tests read.

use std::path::{Path, PathBuf};

#[path = "../../../../fuzz/src/lib.rs"]
pub mod fuzz;

fn inputs(name: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fixtures = root.join("crates/import/tests/fixtures");
    let mut folders = vec![root.join("fuzz/corpus").join(name)];
    if name == "whatever" {
        let tools = ["iperf3", "netperf", "reported", "text"];
        folders.extend(tools.map(|tool| fixtures.join(tool)));
        folders.push(fixtures);
    }
    let mut paths = Vec::new();
    for folder in folders {
        let files = std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        paths.extend(files.map(|file| file.unwrap().path()));
    }
    paths.retain(|path| path.is_file());
    assert!(!paths.is_empty(), "{name} has inputs");
    paths
}

#[test]
fn every_target_holds_on_its_corpus() {
    for (name, _) in fuzz::TARGETS {
        for path in inputs(name) {
            let input = std::fs::read(&path).unwrap();
            let held = std::panic::catch_unwind(|| fuzz::run(name, &input));
            assert!(held.is_ok(), "{}", path.display());
        }
    }
}

/// A full disk or a lost connection leaves inputs that are cut at any place.
#[test]
fn every_target_holds_on_inputs_that_are_cut() {
    // A log is written to a file and drawn in every form, which takes too long for each length.
    for (name, _) in fuzz::TARGETS.iter().filter(|(name, _)| *name != "log") {
        for path in inputs(name) {
            let input = std::fs::read(path).unwrap();
            let step = (input.len() / 16).max(1);
            (0..input.len())
                .step_by(step)
                .for_each(|length| fuzz::run(name, &input[..length]));
        }
    }
}
