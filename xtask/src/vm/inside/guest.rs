//! bitcost as a user of the machine starts it, what it leaves, and labs that stand.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use bitcost_execute::requests::REQUESTS_VERB;
use bitcost_model::ping::Pings;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const USER: u32 = 1000;

/// A program with the environment of the machine.
pub fn program(path: &str) -> Command {
    let mut command = Command::new(path);
    command.env("PATH", "/bin:/sbin").env("HOME", "/root");
    command.env("RUST_BACKTRACE", "1");
    command
}

/// A command of bitcost in a separate folder.
pub fn command(words: &[&str]) -> Command {
    let mut command = Command::new("bitcost");
    command.args(words).current_dir("/tmp").stdin(Stdio::null());
    command
}

fn of_user(words: &[&str]) -> Command {
    let mut command = command(words);
    command.uid(USER).gid(USER).env("HOME", "/tmp");
    command
}

/// Runs bitcost with these words as the ordinary user.
pub fn bitcost(words: &[&str]) -> Result<Outcome> {
    Outcome::of(&mut of_user(words))
}

/// The output of a command of bitcost, and its exit code.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Outcome {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let outcome = Outcome {
            code: output.status.code(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        };
        eprintln!("{:?}: {}", outcome.code, outcome.err);
        outcome
    }
}

impl Outcome {
    /// Runs a command and prints what it said on the console.
    pub fn of(command: &mut Command) -> Result<Outcome> {
        eprintln!("{command:?}");
        Ok(command.output()?.into())
    }

    /// The document of a command that ended with one of these codes.
    pub fn json(&self, codes: &[i32]) -> Result<Value> {
        let is_well = self.code.is_some_and(|code| codes.contains(&code));
        ensure!(
            is_well,
            "it ended with {:?}: {} {}",
            self.code,
            self.err,
            self.out
        );
        serde_json::from_str(&self.out)
            .with_context(|| format!("no JSON: {} {}", self.out, self.err))
    }

    /// What it says of a command that fails, with this code where one is given; this must be in it.
    pub fn refused(&self, code: Option<i32>, names: &str) -> Result<String> {
        let is_refused = self.code != Some(0) && (code.is_none() || self.code == code);
        ensure!(
            is_refused && self.err.contains(names),
            "it is not refused by naming {names}: {:?} {} {}",
            self.code,
            self.err,
            self.out
        );
        Ok(self.err.clone())
    }
}

/// The value in effect of a setting at an endpoint of a run.
pub fn in_effect<'a>(run: &'a Value, endpoint: &str, name: &str) -> Option<&'a str> {
    let all = run["records"][0][endpoint]["in_effect"].as_array()?;
    all.iter().find(|row| row["name"] == name)?["actual"].as_str()
}

/// A lab that the ordinary user keeps running; it is stopped when this is dropped.
pub struct StandingLab(Child);

/// The line that `lab up` prints last.
const LAST_LINE: &str = "down:";
/// What it prints on standard error.
const NOTES: &str = "/tmp/lab.txt";

/// Milliseconds by which the shortest round trip of an idle path may exceed the requested one.
const RTT_SLACK_MS: f64 = 1.0;

impl StandingLab {
    /// Starts a lab from the text of a lab file, with more words for `lab up`.
    pub fn up(file: &str, words: &[&str]) -> Result<StandingLab> {
        let path = lab_file(file)?;
        let mut command = of_user(&[&["lab", "up", &path], words].concat());
        command.stdout(Stdio::piped()).stderr(File::create(NOTES)?);
        let mut lab = StandingLab(command.spawn()?);
        let mut lines = BufReader::new(lab.0.stdout.take().context("no output")?).lines();
        if lines.any(|line| line.is_ok_and(|line| line.starts_with(LAST_LINE))) {
            return Ok(lab);
        }
        bail!("the lab did not come up: {}", lab.down());
    }

    /// Runs a program in a node.
    fn exec(&self, node: &str, words: &[&str]) -> Result<String> {
        let outcome = bitcost(&[&["lab", "exec", node, "--"], words].concat())?;
        ensure!(outcome.code == Some(0), "{words:?} in {node}: {outcome:?}");
        Ok(outcome.out)
    }

    /// The queue of a node's device, as tc reads it, where each of these parts is in it.
    pub fn tc(&self, node: &str, device: &str, parts: &[&str]) -> Result<String> {
        let shown = self.exec(node, &["tc", "qdisc", "show", "dev", device])?;
        match parts.iter().find(|part| !shown.contains(**part)) {
            Some(part) => bail!("\"{part}\" is not in what tc shows: {shown}"),
            None => Ok(shown),
        }
    }

    /// The least round trip of `count` requests from h1, in milliseconds, which must be this. The very first request waits
    /// until the address is resolved, over the same delay.
    pub fn round_trip_ms(&self, count: u32, expected_ms: f64) -> Result<f64> {
        let asked = json!({"to": "10.0.0.2", "count": count, "interval_ms": 20, "wait_ms": 1000});
        let words = ["bitcost", REQUESTS_VERB, &asked.to_string()];
        let pings: Pings = serde_json::from_str(&self.exec("h1", &words)?)?;
        let rtt = pings.figures().context("no round trip")?.min_us / 1000.0;
        ensure!(
            (expected_ms..expected_ms + RTT_SLACK_MS).contains(&rtt),
            "{expected_ms} ms were asked for, the least round trip is {rtt:.3} ms"
        );
        Ok(rtt)
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

/// The text of a lab file whose first link has this text for one direction.
pub fn two_hosts(egress: &str) -> String {
    format!(
        "hosts = [\"h1\", \"h2\"]\n[[link]]\nends = [\"h1\", \"h2\"]\n[egress.h1-eth0]\n{egress}\n"
    )
}
