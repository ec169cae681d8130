//! Every row of the tables for readers who know another program: its command is run, shortened.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::Place::PrivateNetwork;

fn main() {
    testkit::main_in(vec![
        ("from_netperf", PrivateNetwork, || rows_run("from-netperf.md", 45)),
        ("from_iperf3", PrivateNetwork, || rows_run("from-iperf3.md", 40)),
        ("from_mininet", PrivateNetwork, || rows_run("from-mininet.md", 10)),
    ]);
}

/// Runs at the same time: nothing here is about how fast it goes.
const TOGETHER: usize = 3;

/// Runs the command of each row of a document, which has so many at least.
fn rows_run(name: &str, least: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let mut commands = commands(&fs::read_to_string(&path).unwrap());
    assert!(commands.len() >= least, "{}: {} commands", path.display(), commands.len());
    commands.sort();
    commands.dedup();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..TOGETHER {
            scope.spawn(|| {
                while let Some(command) = commands.get(next.fetch_add(1, Ordering::Relaxed)) {
                    failed.lock().unwrap().extend(failure(command));
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{name}:\n{}", failed.join("\n"));
}

/// The bitcost commands in the rows of a document's tables. A row without one is a mistake.
fn commands(text: &str) -> Vec<String> {
    let rows = text.lines().filter(|line| line.starts_with('|') && !line.starts_with("|--"));
    let is_head = |row: &&str| row.contains("| bitcost |");
    let command = |row: &str| {
        let cells = row.split('|').map(|cell| cell.trim().trim_matches('`'));
        let found = cells.into_iter().find(|cell| cell.starts_with("bitcost "));
        found.unwrap_or_else(|| panic!("no command in the row {row}")).to_owned()
    };
    rows.filter(|row| !is_head(row)).map(command).collect()
}

/// What is wrong with a command; absent where it succeeds.
fn failure(command: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let words = shortened(&words(command));
    let Output { status, stderr, .. } = Command::new(env!("CARGO_BIN_EXE_bitcost"))
        .args(&words)
        .current_dir(folder.path())
        .env("BITCOST_STATE_DIR", folder.path().join("state"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&stderr);
    (!status.success()).then(|| format!("{command} (as {}): {status}: {said}", words.join(" ")))
}

/// Words as a shell with nothing but spaces and single quotes parts them.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in command.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words.remove(0);
    words
}

/// Short times, this machine in the place of another host, and of a study its plan.
fn shortened(words: &[String]) -> Vec<String> {
    let mut short: Vec<&str> = Vec::new();
    let mut all = words.iter();
    while let Some(word) = all.next() {
        match word.as_str() {
            "-t" | "-O" => drop(all.next()),
            "run" => short.push("plan"),
            "HOST" => short.push("local"),
            other => short.push(other),
        }
    }
    if short.first() == Some(&"test") {
        short.extend(["-t", "0.1"]);
        // Runs that end by a count have no warm-up.
        if !short.iter().any(|word| ["-n", "-k"].contains(word)) {
            short.extend(["-O", "0.05"]);
        }
    }
    short.into_iter().map(str::to_owned).collect()
}
