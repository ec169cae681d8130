//! Damaged logs: nothing panics or hangs, and no figure changes without a message.

use std::fs;
use std::path::{Path, PathBuf};

use bitcost_execute::store::LOG_NAME;
use bitcost_model::event::FORMAT;
use bitcost_testkit::assert_says;
use serde_json::Value;

use crate::words::bitcost;

const LOG: &str = include_str!("../sizes/events.jsonl");

/// The commands that get every log, with the folder after the first word.
const COMMANDS: [&[&str]; 5] = [
    &["show", "--json"],
    &["show"],
    &["explain"],
    &["show", "--format", "csv"],
    &["report", "--out", "-"],
];

/// Exit code, standard output and standard error of a command for this folder.
fn shown(words: &[&str], folder: &str) -> (Option<i32>, String, String) {
    let words = [&words[..1], &[folder], &words[1..]].concat();
    bitcost(Path::new("."), &words)
}

/// A folder with the recorded log.
fn sealed(place: &Path) -> PathBuf {
    let folder = place.join("sealed");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(LOG_NAME), LOG).unwrap();
    folder
}

/// How many kinds of damage there are: what a failing disk, an editor or a script does to a log.
const KINDS: usize = 14;

/// Changes the first digit from a place on.
fn digit(log: &mut [u8], at: usize) {
    if let Some(digit) = log[at..].iter_mut().find(|byte| byte.is_ascii_digit()) {
        *digit = b'0' + (*digit - b'0' + 1) % 10;
    }
}

fn damaged(number: usize) -> Vec<u8> {
    let mut log = LOG.as_bytes().to_vec();
    let at = number * 7919 % log.len();
    let mut lines: Vec<&[u8]> = LOG
        .as_bytes()
        .split_inclusive(|byte| *byte == b'\n')
        .collect();
    let (line, other) = (number % lines.len(), number * 5 % lines.len());
    let inserted = |bytes: &[u8]| [&log[..at], bytes, &log[at..]].concat();
    match number % KINDS {
        0 => log[at] ^= 1 << (number / KINDS % 8),
        1 => log.truncate(at),
        2 => drop(log.drain(at..(at + 1 + 37 * number).min(LOG.len()))),
        3 => log[at..(at + 512).min(LOG.len())].fill(0),
        4 => return inserted(&[b'['; 200_000]),
        5 => return inserted(b"\xe2\x82"),
        6 => return inserted(b"99999999999999"),
        7 => digit(&mut log, at),
        8 => digit(
            &mut log,
            LOG.find("\"measured\":{").expect("a result") + number % 120,
        ),
        9 => {
            return LOG
                .replacen(&format!("\"format\":{FORMAT}"), "\"format\":0", 1)
                .into();
        }
        10 => drop(lines.remove(line)),
        11 => lines.swap(line, other),
        12 => lines.extend_from_within(line.min(other)..),
        _ => lines.insert(other, lines[line]),
    }
    if number % KINDS < 10 {
        log
    } else {
        lines.concat()
    }
}

/// Whether a document has a word on what is missing, or the figures of the whole log.
fn is_honest(document: &Value, whole: &Value) -> bool {
    let differs = |key: &str| document[key] != whole[key];
    ["caveats", "incomplete_runs", "excluded"]
        .into_iter()
        .any(differs)
        || !differs("cells")
}

#[test]
fn no_damage_changes_figures_without_a_word() {
    let place = tempfile::tempdir().unwrap();
    let folder = sealed(place.path());
    let name = folder.to_str().unwrap();
    let other = place.path().join("other");
    fs::create_dir(&other).unwrap();
    let document = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let whole = document(&shown(COMMANDS[0], name).1);
    let mut refused = 0;
    for number in 0..3 * KINDS {
        fs::write(folder.join(LOG_NAME), damaged(number)).unwrap();
        let count = if number < KINDS { COMMANDS.len() } else { 1 };
        fs::copy(folder.join(LOG_NAME), other.join(LOG_NAME)).unwrap();
        let compare = ["compare", other.to_str().unwrap()];
        let last = (number < KINDS).then_some(&compare[..]);
        for words in COMMANDS[..count].iter().copied().chain(last) {
            let (code, printed, stderr) = shown(words, name);
            let is_whole = (0..=3).contains(&code.unwrap()) && !stderr.contains("panicked at");
            assert!(is_whole, "{number}: {words:?}: {code:?}: {stderr}");
            if words.contains(&"--json") {
                refused += usize::from(code != Some(0));
                let says = code != Some(0) || !stderr.is_empty();
                assert!(
                    says || is_honest(&document(&printed), &whole),
                    "{number}: {printed}"
                );
            }
        }
    }
    assert!(refused > 2 * KINDS, "{refused}");
}

#[test]
fn a_changed_line_is_refused_by_every_reader_and_the_lines_before_it_are_a_log() {
    let place = tempfile::tempdir().unwrap();
    let folder = sealed(place.path());
    let path = folder.join(LOG_NAME);
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
    for command in COMMANDS {
        let (code, stdout, stderr) = shown(command, folder);
        assert_eq!(
            (code, stdout.as_str()),
            (Some(2), ""),
            "{command:?}: {stderr}"
        );
        let says = format!(
            "events.jsonl:{line}: the log is damaged: this line does not match its checksum"
        );
        let before = format!("head -n {} ", line - 1);
        assert_says(&stderr, &[&says, &before]);
    }
    let before: String = log.split_inclusive('\n').take(line - 1).collect();
    fs::write(&path, before).unwrap();
    let (code, text, stderr) = shown(&["show"], folder);
    assert_eq!(code, Some(0), "{stderr}");
    assert_says(&text, &["missing: 1 run of 1"]);
}

#[test]
fn a_log_without_its_hosts_says_so() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().to_str().unwrap();
    let unplaced: Vec<&str> = LOG
        .lines()
        .filter(|line| !line.contains("\"event\":\"prepared\""))
        .collect();
    let log = bitcost_execute::store::seal_again(&unplaced.join("\n"));
    fs::write(place.path().join(LOG_NAME), log).unwrap();
    let (code, json, _) = shown(COMMANDS[0], folder);
    assert!(
        code == Some(0) && json.contains("does not describe the hosts"),
        "{json}"
    );
}
