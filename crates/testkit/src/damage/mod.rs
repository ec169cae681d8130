//! Damaged logs: the behaviour of a program that reads them, and whether it prints other figures
//! without a warning.

mod kinds;
mod random;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::process::within;

pub use kinds::{KINDS, Kind};
pub use random::Random;

/// The time within which the program must end; after it, the program counts as hanging.
const PATIENCE: Duration = Duration::from_secs(20);

/// The file's name in an execution's folder.
const LOG_NAME: &str = "events.jsonl";

/// The commands that get every log, with the folder after the first word.
pub const COMMANDS: [&[&str]; 6] = [
    &["show", "--json"],
    &["show"],
    &["explain"],
    &["show", "--format", "csv"],
    &["report", "--out", "-"],
    &["compare"],
];

/// The ways in which a program can fail on a damaged log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// The program panicked, or a signal ended it.
    Crash,
    /// It did not end.
    Hang,
    /// Its medians differ from those of the whole log, without a warning that the log is damaged.
    Silent,
}

/// The results of damaged logs.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of logs of each kind of damage, and how many of these were refused, shown with a
    /// warning, and shown unchanged.
    pub kinds: BTreeMap<&'static str, [usize; 4]>,
    /// The number of each log that failed, its kind of damage, and the command.
    pub wrong: Vec<(usize, &'static str, Wrong, String)>,
    /// Commands that were run.
    pub commands: usize,
}

/// A program, a whole log and its output for it.
#[derive(Debug)]
pub struct Bench {
    program: PathBuf,
    /// The log's bytes.
    log: Vec<u8>,
    whole: Value,
    seed: u64,
}

impl Bench {
    /// Reads the log of the execution in this folder, and the program's output for it.
    pub fn new(program: &Path, folder: &Path, seed: u64) -> Result<Bench, String> {
        let log = folder.join(LOG_NAME);
        let log = std::fs::read(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let shown = run(program, &["show", "--json"], folder)
            .map_err(|wrong| format!("the whole log: {wrong:?}"))?;
        let whole = document(&shown.stdout)
            .ok_or_else(|| format!("the whole log is not shown: {}", shown.stderr))?;
        Ok(Bench {
            program: program.to_owned(),
            log,
            whole,
            seed,
        })
    }

    /// Damages the log by this number, and runs the first `commands` of [`COMMANDS`] on it. The
    /// same number is the same damage.
    pub fn damage(&self, number: usize, commands: usize, tally: &mut Tally) -> Result<(), String> {
        let kind = KINDS[number % KINDS.len()];
        let mut random =
            Random::new(self.seed ^ (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let damaged = (kind.apply)(&self.log, &mut random);
        std::fs::write(folder.path().join(LOG_NAME), &damaged)
            .map_err(|error| error.to_string())?;
        let mut fate = 3;
        for (place, words) in COMMANDS.iter().take(commands).enumerate() {
            tally.commands += 1;
            let result = run(&self.program, words, folder.path()).and_then(|output| {
                if place == 0 {
                    fate = self.fate(&output)?;
                }
                Ok(())
            });
            if let Err(wrong) = result {
                let words = words.join(" ");
                tally.wrong.push((number, kind.name, wrong, words));
            }
        }
        let counts = tally.kinds.entry(kind.name).or_default();
        counts[0] += 1;
        counts[fate] += 1;
        Ok(())
    }

    /// The fate of a log: 1 if refused, 2 if shown with a warning, 3 if shown unchanged.
    fn fate(&self, output: &Output) -> Result<usize, Wrong> {
        let Some(shown) = document(&output.stdout).filter(|_| output.status.success()) else {
            return Ok(1);
        };
        let said = |key: &str| shown[key] != self.whole[key];
        if !output.stderr.is_empty()
            || ["caveats", "incomplete_runs", "excluded"]
                .into_iter()
                .any(said)
        {
            return Ok(2);
        }
        if medians(&shown) == medians(&self.whole) {
            Ok(3)
        } else {
            Err(Wrong::Silent)
        }
    }
}

/// The output and the end of a command.
struct Output {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: String,
}

/// Runs a command on a folder; `compare` compares it with itself under another name.
fn run(program: &Path, words: &[&str], folder: &Path) -> Result<Output, Wrong> {
    let mut command = Command::new(program);
    command
        .args(&words[..1])
        .arg(folder)
        .args(&words[1..])
        .stdin(Stdio::null());
    if words[0] == "compare" {
        let other = folder.join("other");
        let _ = std::fs::create_dir(&other);
        let _ = std::fs::copy(folder.join(LOG_NAME), other.join(LOG_NAME));
        command.arg(other);
    }
    let (stdout, stderr) = (folder.join("stdout"), folder.join("stderr"));
    let file = |path: &Path| std::fs::File::create(path).map_err(|_| Wrong::Crash);
    let child = command
        .stdout(file(&stdout)?)
        .stderr(file(&stderr)?)
        .spawn();
    let status = wait(child.map_err(|_| Wrong::Crash)?)?;
    let read = |path: &Path| std::fs::read(path).unwrap_or_default();
    let stderr = String::from_utf8_lossy(&read(&stderr)).into_owned();
    if status.code().is_none_or(|code| code > 100) || stderr.contains("panicked at") {
        return Err(Wrong::Crash);
    }
    Ok(Output {
        status,
        stdout: read(&stdout),
        stderr,
    })
}

fn wait(mut child: Child) -> Result<ExitStatus, Wrong> {
    match within(PATIENCE, || child.try_wait().transpose()) {
        Some(Ok(status)) => Ok(status),
        _ => {
            let _ = child.kill();
            let _ = child.wait();
            Err(Wrong::Hang)
        }
    }
}

fn document(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok().filter(Value::is_object)
}

/// The median of each metric of each cell, by the cell's levels and the metric.
fn medians(document: &Value) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for cell in document["cells"].as_array().into_iter().flatten() {
        for (metric, figure) in cell.as_object().into_iter().flatten() {
            let key = (cell["levels"].to_string(), metric.clone());
            found.extend(figure.get("median").map(|median| (key, median.to_string())));
        }
    }
    found
}
