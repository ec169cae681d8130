//! Logs that are cut in the middle, as a lost disk or a power failure leaves them.

use std::fs;
use std::path::PathBuf;

use crate::bench::{Bench, SMALL, log_file, runs_per_cell};

bitcost_testkit::trials! {
    Host: log_cut_anywhere_is_shown, cut_log_resumes;
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

fn log_cut_anywhere_is_shown() {
    let bench = Bench::new();
    let (folder, bytes) = execution(&bench);
    for length in lengths(&bytes) {
        fs::write(log_file(&folder), &bytes[..length]).unwrap();
        check(&bench, &folder.to_string_lossy(), &bytes[..length]);
    }
}

/// Lengths at the end of each line, one byte before and after it, and at many places between.
fn lengths(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at);
    let mut lengths: Vec<usize> = ends
        .flat_map(|end| [end - 1, end, end + 1, end + 2])
        .collect();
    lengths.extend((0..bytes.len()).step_by(bytes.len() / 40));
    lengths.retain(|length| *length <= bytes.len());
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

fn check(bench: &Bench, folder: &str, kept: &[u8]) {
    let whole = kept.iter().filter(|byte| **byte == b'\n').count();
    let rest = kept
        .rsplit(|byte| *byte == b'\n')
        .next()
        .map_or(0, <[u8]>::len);
    let cut = format!("the log ends within line {}, after {rest} bytes", whole + 1);
    let ended = kept
        .split(|byte| *byte == b'\n')
        .take(whole)
        .filter(|line| line.starts_with(b"{\"event\":\"run_ended\""));
    let ended = ended.count() as u64;
    for json in [false, true] {
        let done = bench.bitcost(&["show", folder, "--json"][..if json { 3 } else { 2 }]);
        let place = format!("{} bytes: {}", kept.len(), done.stderr);
        assert_eq!(done.stderr.contains(&cut), rest > 0, "{place}");
        // The first two lines are the study and the plan.
        if whole < 2 {
            assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{place}");
            assert!(
                done.stderr.contains(if whole == 0 {
                    "execution_began"
                } else {
                    "no plan"
                }),
                "{place}"
            );
            continue;
        }
        assert_eq!(done.code, Some(0), "{place}");
        if json {
            assert_eq!(
                done.stderr.lines().count(),
                usize::from(rest > 0),
                "{place}"
            );
            let document = done.json();
            assert_eq!(
                runs_per_cell(&document).iter().sum::<u64>(),
                ended,
                "{place}"
            );
            assert_eq!(
                document["incomplete_runs"].as_array().map(Vec::len),
                Some(2 - ended as usize),
                "{place}"
            );
        } else {
            assert_eq!(done.stdout.contains("missing: "), ended < 2, "{place}");
        }
    }
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
