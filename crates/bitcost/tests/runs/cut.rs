//! Logs that are cut in the middle, as a lost disk or a power failure leaves them.

use std::fs;
use std::path::PathBuf;

use crate::bench::{Bench, SMALL, log_file, runs_per_cell};

bitcost_testkit::trials! {
    Host: cut_log_resumes;
}

/// An execution of one block and the bytes of its log.
fn execution(bench: &Bench) -> (PathBuf, Vec<u8>) {
    bench.write("small.toml", SMALL);
    let done = bench.bitcost(&["run", "small.toml", "--blocks", "1"]);
    done.assert_code(0);
    let folder = bench.execution();
    let bytes = fs::read(log_file(&folder)).unwrap();
    (folder, bytes)
}

fn cut_log_resumes() {
    let bench = Bench::new();
    let (folder, bytes) = execution(&bench);
    let ends: Vec<usize> = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at)
        .collect();
    // These lengths end in the first line, in the description of the machine, and in the last run's
    // result.
    for (length, runs) in [
        (ends[0] - 5, None),
        (ends[1] + 100, Some([1, 1])),
        (ends[6] - 5, Some([1, 1])),
    ] {
        fs::write(log_file(&folder), &bytes[..length]).unwrap();
        let Some(runs) = runs else {
            let done = bench.bitcost(&["run", "--resume", folder.to_str().unwrap()]);
            done.assert_code(2);
            done.assert_says("nothing was run; start a new execution");
            continue;
        };
        let done = bench.bitcost(&["run", "--json", "--resume", folder.to_str().unwrap()]);
        done.assert_code(0);
        done.assert_says("the log ends within line ");
        assert_eq!(runs_per_cell(&done.json()), runs);
        assert_eq!(bench.log().end.incomplete, None);
    }
    bench.assert_nothing_left();
}
