//! Damaged logs: nothing panics or hangs, and no figure changes without a message.

use std::fs;
use std::path::{Path, PathBuf};

use bitcost_testkit::assert_says;
use bitcost_testkit::damage::{Bench, COMMANDS, KINDS, Tally};

use crate::words::bitcost;

/// A log of one run.
const LOG: &str = include_str!("../sizes/events.jsonl");

/// A folder with the recorded log.
fn sealed(place: &Path) -> PathBuf {
    let folder = place.join("sealed");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(bitcost_execute::store::LOG_NAME), LOG).unwrap();
    folder
}

#[test]
fn no_damage_changes_figures_without_a_word() {
    let place = tempfile::tempdir().unwrap();
    let bench = Bench::new(
        Path::new(env!("CARGO_BIN_EXE_bitcost")),
        &sealed(place.path()),
        1,
    )
    .unwrap();
    let mut tally = Tally::default();
    for number in 0..5 * KINDS.len() {
        bench.damage(number, 1, &mut tally).unwrap();
    }
    for number in 5 * KINDS.len()..6 * KINDS.len() {
        bench.damage(number, COMMANDS.len(), &mut tally).unwrap();
    }
    assert_eq!(tally.wrong, [], "{:?}", tally.kinds);
    let refused: usize = tally.kinds.values().map(|counts| counts[1]).sum();
    assert!(refused > 4 * KINDS.len(), "{:?}", tally.kinds);
}

#[test]
fn a_changed_line_is_refused_by_every_reader_or_left_out_where_that_is_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let folder = sealed(place.path());
    let path = folder.join(bitcost_execute::store::LOG_NAME);
    let log = fs::read_to_string(&path).unwrap();
    let line = 1 + log
        .lines()
        .position(|line| line.contains("\"event\":\"run_ended\""))
        .unwrap();
    fs::write(
        &path,
        log.replacen("\"window_end_ns\":", "\"window_end_ns\":1", 1),
    )
    .unwrap();
    let folder = folder.to_str().unwrap();
    for command in COMMANDS.iter().filter(|words| words[0] != "compare") {
        let (code, stdout, stderr) = bitcost(
            Path::new("."),
            &[&command[..1], &[folder], &command[1..]].concat(),
        );
        assert_eq!(
            (code, stdout.as_str()),
            (Some(2), ""),
            "{command:?}: {stderr}"
        );
        let says = format!(
            "events.jsonl:{line}: the log is damaged: this line does not match its checksum"
        );
        assert!(
            stderr.contains(&says) && stderr.contains("--damaged"),
            "{stderr}"
        );
    }
    let left_out = format!("could not be verified and are left out ({line})");
    let (code, shown, stderr) = bitcost(Path::new("."), &["show", "--damaged", folder]);
    assert_eq!(code, Some(0), "{stderr}");
    assert_says(
        &shown,
        &["caveat: the log is damaged", "missing: 1 run of 1"],
    );
    let (_, json, _) = bitcost(Path::new("."), &["show", "--json", "--damaged", folder]);
    assert!(json.contains(&left_out), "{json}");
    let (code, _, stderr) = bitcost(
        Path::new("."),
        &["show", "--format", "csv", "--damaged", folder],
    );
    assert!(code == Some(0) && stderr.contains(&left_out), "{stderr}");
}

#[test]
fn a_log_without_its_hosts_or_with_two_plans_says_so() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(bitcost_execute::store::LOG_NAME);
    let folder = place.path().to_str().unwrap();
    let write = |text: &str| {
        fs::write(&path, bitcost_execute::store::seal_again(text)).unwrap();
    };
    let unplaced: Vec<&str> = LOG
        .lines()
        .filter(|line| !line.contains("\"event\":\"prepared\""))
        .collect();
    write(&unplaced.join("\n"));
    let (code, json, _) = bitcost(Path::new("."), &["show", "--json", folder]);
    assert!(
        code == Some(0) && json.contains("does not describe the hosts"),
        "{json}"
    );
    let plan = LOG.lines().nth(1).unwrap();
    write(&format!("{LOG}{plan}"));
    let (code, _, stderr) = bitcost(Path::new("."), &["show", folder]);
    assert!(
        code == Some(2) && stderr.contains("holds a second plan"),
        "{stderr}"
    );
}
