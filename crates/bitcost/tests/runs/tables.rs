//! Runs the command in every row of the tables for users of other programs, with shortened times.

use crate::bench::*;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

bitcost_testkit::trials! {
    PrivateNetwork: from_netperf, from_iperf3, from_mininet;
}

const DOCUMENTS: [(&str, usize); 3] = [
    ("from-netperf.md", 45),
    ("from-iperf3.md", 40),
    ("from-mininet.md", 17),
];

fn from_netperf() {
    rows_run(0);
}

fn from_iperf3() {
    rows_run(1);
}

fn from_mininet() {
    rows_run(2);
}

/// Number of commands that run at the same time: nothing here depends on speed.
const TOGETHER: usize = 3;

/// The commands in the rows of a document, which has at least `least`, and its files.
fn read((name, least): (&str, usize)) -> (BTreeSet<Vec<String>>, Vec<(String, String)>) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = fs::read_to_string(docs.join(name)).unwrap();
    let rows = commands(&text);
    assert!(rows.len() >= least, "{name}: {} commands", rows.len());
    let words = rows.iter().map(|row| shortened(&split(row)[1..]));
    (words.collect(), files(&text))
}

/// Runs the commands in the rows of a document that no earlier one has.
fn rows_run(index: usize) {
    let (mut words, files) = read(DOCUMENTS[index]);
    for earlier in &DOCUMENTS[..index] {
        let (had, _) = read(*earlier);
        words.retain(|row| !had.contains(row));
    }
    if Command::new("ping").arg("-V").output().is_err() {
        // A lab runs the system's.
        words.retain(|row| !row.iter().any(|word| word == "ping"));
    }
    let commands: Vec<Vec<String>> = words.into_iter().collect();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..TOGETHER {
            scope.spawn(|| {
                while let Some(command) = commands.get(next.fetch_add(1, Ordering::Relaxed)) {
                    failed.lock().unwrap().extend(failure(command, &files));
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "{}:\n{}",
        DOCUMENTS[index].0,
        failed.join("\n")
    );
}

/// The bitcost commands in the rows of a document's tables. A row without one is a mistake, unless it
/// says that there is none.
fn commands(text: &str) -> Vec<String> {
    let rows = text
        .lines()
        .filter(|line| line.starts_with('|') && !line.starts_with("|--"));
    let is_head = |row: &&str| row.contains("| bitcost |");
    let command = |row: &str| {
        let cells = row.split('|').map(|cell| cell.trim().trim_matches('`'));
        let found = cells.into_iter().find(|cell| cell.starts_with("bitcost "));
        found
            .unwrap_or_else(|| panic!("no command in the row {row}"))
            .to_owned()
    };
    let has_none = |row: &&str| row.contains("| – |");
    rows.filter(|row| !is_head(row) && !has_none(row))
        .map(command)
        .collect()
}

/// The files that a document shows: blocks whose first line is a comment with the name.
fn files(text: &str) -> Vec<(String, String)> {
    let block = |block: &str| {
        let (name, _) = block.strip_prefix("toml\n# ")?.split_once([' ', '\n'])?;
        Some((name.to_owned(), block.strip_prefix("toml\n")?.to_owned()))
    };
    text.split("```").filter_map(block).collect()
}

/// A file of MiniEdit, for rows that name one.
const MINIEDIT: &str = include_str!("../../../import/tests/miniedit/lab15.mn");

/// The error of a command; absent when it succeeds.
fn failure(words: &[String], files: &[(String, String)]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("lab15.mn"), MINIEDIT).unwrap();
    files
        .iter()
        .for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    let Output { status, stderr, .. } =
        match words.iter().take(2).map(String::as_str).collect::<Vec<_>>()[..] {
            ["lab", "up"] => Lab::up(folder.path(), &words[2]).down(),
            ["lab", "exec" | "down" | "ls" | "set" | "show" | "shell"] => {
                let lab = Lab::up(folder.path(), "lab15");
                // Labs of other rows run at the same time.
                let named: &[&str] = match words[1].as_str() {
                    "exec" => &["--lab", &lab.name],
                    "down" | "set" | "show" | "shell" => &[&lab.name],
                    _ => &[],
                };
                let named = named.iter().map(|word| (*word).to_owned());
                let all: Vec<String> = words[..2]
                    .iter()
                    .cloned()
                    .chain(named)
                    .chain(words[2..].iter().cloned())
                    .collect();
                bitcost(folder.path(), &all).output().unwrap()
            }
            _ => bitcost(folder.path(), words).output().unwrap(),
        };
    let said = String::from_utf8_lossy(&stderr);
    (!status.success()).then(|| format!("{}: {status}: {said}", words.join(" ")))
}

/// The program in a folder, on the path of what it starts.
fn bitcost(folder: &Path, words: &[String]) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_bitcost"));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(folder)
        .env("BITCOST_STATE_DIR", folder.join("state"));
    command
        .env(
            "PATH",
            format!("{}:{path}", program.parent().unwrap().display()),
        )
        .stdin(Stdio::null());
    command
}

/// A running lab with an unused name, until it is dropped.
struct Lab {
    name: String,
    child: Option<Child>,
}

impl Lab {
    fn up(folder: &Path, lab: &str) -> Lab {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "row-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let words = ["lab", "up", lab, "--name", &name].map(str::to_owned);
        let child = bitcost(folder, &words)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut up = Lab {
            name,
            child: Some(child),
        };
        eventually(
            Duration::from_secs(60),
            "the lab stands or is refused",
            || {
                let listed = bitcost(folder, &["lab".to_owned(), "ls".to_owned()])
                    .output()
                    .unwrap();
                let stands = String::from_utf8_lossy(&listed.stdout).contains(&up.name);
                let ended = up.child.as_mut().unwrap().try_wait().unwrap().is_some();
                (stands || ended).then_some(())
            },
        );
        up
    }

    /// Ends it as Ctrl-C does.
    fn down(mut self) -> Output {
        let child = self.child.take().unwrap();
        // It fails only for a process that has ended.
        let _ = kill_process(Pid::from_child(&child), Signal::INT);
        child.wait_with_output().unwrap()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Both fail only for a process that has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Uses short times, this machine in the place of another host, and the plan of a study instead of
/// its execution.
fn shortened(words: &[&str]) -> Vec<String> {
    let mut short: Vec<&str> = Vec::new();
    let mut all = words.iter();
    while let Some(word) = all.next() {
        match *word {
            "-t" | "-O" => drop(all.next()),
            "run" => short.push("plan"),
            "HOST" => short.push("local"),
            other => short.push(other),
        }
    }
    let is_test =
        short.first() == Some(&"test") || short.windows(2).any(|two| two == ["bitcost", "test"]);
    // Runs that end by a count have no time and no warm-up.
    if is_test && !short.iter().any(|word| ["-n", "-k"].contains(word)) {
        short.extend(["-t", "0.3", "-O", "0.05"]);
    }
    short.into_iter().map(str::to_owned).collect()
}
