//! bitcost as a user of the machine starts it, and the traces that it leaves.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const USER: u32 = 1000;

/// A command of the ordinary user, in a separate folder.
pub fn user(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .uid(USER)
        .gid(USER)
        .env("HOME", "/tmp")
        .current_dir("/tmp")
        .stdin(Stdio::null());
    command
}

/// The output of a command of bitcost, and its exit code.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Outcome {
    /// What a command that ended left.
    pub fn of(output: &Output) -> Outcome {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Outcome {
            code: output.status.code(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    pub fn json(&self) -> Result<Value> {
        if ![Some(0), Some(1)].contains(&self.code) {
            bail!("it ended with {:?}: {}", self.code, self.err.trim());
        }
        serde_json::from_str(&self.out)
            .with_context(|| format!("no JSON: {} {}", self.out, self.err))
    }
}

/// Runs bitcost with these words as the ordinary user.
pub fn bitcost(words: &[&str]) -> Result<Outcome> {
    let mut command = user("bitcost");
    command.args(words);
    outcome(&mut command)
}

/// Runs a command and prints what it said on the console.
pub fn outcome(command: &mut Command) -> Result<Outcome> {
    let program = command.get_program().to_string_lossy().into_owned();
    let outcome = Outcome::of(&command.output().with_context(|| program.clone())?);
    let words: Vec<_> = command
        .get_args()
        .map(|word| word.to_string_lossy())
        .collect();
    eprintln!(
        "{program} {}: {:?}\n{}",
        words.join(" "),
        outcome.code,
        outcome.err
    );
    Ok(outcome)
}

/// A lab that the ordinary user keeps running; it is stopped when this is dropped.
pub struct StandingLab(Child);

/// The line that `lab up` prints last.
const LAST_LINE: &str = "down:";
/// What it prints on standard error.
const NOTES: &str = "/tmp/lab.txt";

impl StandingLab {
    /// Starts a lab from the text of a lab file, with more words for `lab up`.
    pub fn up(file: &str, words: &[&str]) -> Result<StandingLab> {
        let path = lab_file(file)?;
        let mut command = user("bitcost");
        command.args(["lab", "up", &path]).args(words);
        command.stdout(Stdio::piped()).stderr(File::create(NOTES)?);
        let mut lab = StandingLab(command.spawn()?);
        let mut lines = BufReader::new(lab.0.stdout.take().context("no output")?).lines();
        if lines.any(|line| line.is_ok_and(|line| line.starts_with(LAST_LINE))) {
            return Ok(lab);
        }
        bail!("the lab did not come up: {}", lab.down());
    }

    /// Runs a program in a node.
    pub fn exec(&self, node: &str, words: &[&str]) -> Result<String> {
        let mut all = vec!["lab", "exec", node, "--"];
        all.extend(words);
        let outcome = bitcost(&all)?;
        if outcome.code != Some(0) {
            bail!(
                "{words:?} in {node}: {:?}: {}",
                outcome.code,
                outcome.err.trim()
            );
        }
        Ok(outcome.out)
    }

    /// Stops it and returns its output except the drawing.
    pub fn down(self) -> String {
        drop(self);
        std::fs::read_to_string(NOTES).unwrap_or_default()
    }
}

impl Drop for StandingLab {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

/// Writes a lab file with this text, which everybody can read.
pub fn lab_file(text: &str) -> Result<String> {
    let path = "/tmp/lab.toml";
    std::fs::write(path, text)?;
    Ok(path.to_owned())
}
