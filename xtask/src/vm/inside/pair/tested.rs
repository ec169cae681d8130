//! A run of bitcost between both hosts, and its figures.

use std::process::Output;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::hosts::{DATA_DEVICE, counted, near};
use crate::vm::inside::guest::{Outcome, outcome};

/// Words for a host that ssh reaches, whose data go over the interface for them.
pub const OVER_SSH: &[&str] = &["--receiver", "ssh:far", "--receiver-dev", DATA_DEVICE];

/// Words for a host that is reached otherwise, whose data go the way of its address.
pub fn over(host: &str) -> [&str; 2] {
    ["--receiver", host]
}

fn words<'a>(words: &[&'a str], hosts: &[&'a str]) -> Vec<&'a str> {
    [
        &["test"],
        words,
        hosts,
        &["--json", "--samples", "--no-log"],
    ]
    .concat()
}

/// Runs `bitcost test` between the hosts: the test with its words, and words for the hosts.
pub fn test(test: &[&str], hosts: &[&str]) -> Result<Outcome> {
    outcome(&mut near("bitcost", &words(test, hosts)))
}

pub struct Started {
    child: JoinHandle<std::io::Result<Output>>,
    pub began: Instant,
}

/// Bytes after which a run is certainly under way.
const UNDER_WAY: u64 = 300_000;
/// How long a run may take to get there.
const STARTS: Duration = Duration::from_secs(60);

/// Starts a test and waits until it sends.
pub fn started(test: &[&str], hosts: &[&str]) -> Result<Started> {
    let before = counted("tx_bytes")?;
    let mut command = near("bitcost", &words(test, hosts));
    let child = thread::spawn(move || command.output());
    let end = Instant::now() + STARTS;
    while counted("tx_bytes")? < before + UNDER_WAY {
        ensure!(Instant::now() < end, "nothing was sent for {STARTS:?}");
        if child.is_finished() {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(Started {
        child,
        began: Instant::now(),
    })
}

impl Started {
    pub fn is_running(&self) -> bool {
        !self.child.is_finished()
    }

    pub fn ended(self) -> Result<Outcome> {
        let output = self.child.join().ok().context("its thread died")??;
        let outcome = Outcome::of(&output);
        eprintln!("bitcost test: {:?} {}", outcome.code, outcome.err);
        Ok(outcome)
    }
}

pub struct Run(Value);

impl Run {
    /// The run of a test that ended with 0.
    pub fn of(outcome: &Outcome) -> Result<Run> {
        ensure!(
            outcome.code == Some(0),
            "bitcost ended with {:?}: {} {}",
            outcome.code,
            outcome.err.trim(),
            outcome.out.chars().take(2000).collect::<String>()
        );
        let run = outcome.json()?;
        ensure!(run["records"][0].is_object(), "no run: {run}");
        Ok(Run(run))
    }

    pub fn over_ssh(words: &[&str]) -> Result<Run> {
        Run::of(&test(words, OVER_SSH)?)
    }

    /// What was carried, and how fast.
    pub fn text(&self) -> Result<String> {
        let (figure, unit) = match self.metric("transactions_per_second") {
            Ok(rate) => (rate, "transactions/s"),
            Err(_) => (self.metric("throughput_mbps")?, "Mbit/s"),
        };
        ensure!(figure > 0.0, "nothing arrived");
        Ok(format!("{figure:.1} {unit}"))
    }

    pub fn metric(&self, name: &str) -> Result<f64> {
        self.0["cells"][0][name]["median"]
            .as_f64()
            .with_context(|| format!("no {name} in {}", self.0["cells"][0]))
    }

    /// The value in effect of a setting at an endpoint.
    pub fn in_effect(&self, endpoint: &str, name: &str) -> Option<String> {
        let all = self.0["records"][0][endpoint]["in_effect"].as_array()?;
        let row = all.iter().find(|row| row["name"] == name)?;
        row["actual"].as_str().map(str::to_owned)
    }
}
