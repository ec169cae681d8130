//! A run of bitcost between both hosts, and its figures.

use std::process::Output;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::hosts::sent_bytes;
use crate::programs::median;
use crate::vm::inside::guest::{Outcome, command};

/// Words for a host that ssh reaches, whose data go over the interface for them.
pub const OVER_SSH: &[&str] = &["--receiver", "ssh:far", "--receiver-dev", "eth1"];

fn words<'a>(test: &[&'a str], hosts: &[&'a str]) -> Vec<&'a str> {
    [&["test"], test, hosts, &["--json", "--samples", "--no-log"]].concat()
}

/// Runs `bitcost test` between the hosts: the test with its words, and words for the hosts.
pub fn test(test: &[&str], hosts: &[&str]) -> Result<Outcome> {
    Outcome::of(&mut command(&words(test, hosts)))
}

/// The run of a test that ended with 0.
pub fn run(test_words: &[&str], hosts: &[&str]) -> Result<Value> {
    test(test_words, hosts)?.json(&[0])
}

/// What a run carried, and how fast.
pub fn carried(run: &Value) -> Result<String> {
    let (figure, unit) = match median(run, "transactions_per_second") {
        Ok(rate) => (rate, "transactions/s"),
        Err(_) => (median(run, "throughput_mbps")?, "Mbit/s"),
    };
    ensure!(figure > 0.0, "nothing arrived");
    Ok(format!("{figure:.1} {unit}"))
}

pub struct Started {
    child: JoinHandle<std::io::Result<Output>>,
    pub began: Instant,
}

/// Bytes after which a run is certainly under way.
const UNDER_WAY: u64 = 300_000;
/// How long a run may take to get there.
const STARTS: Duration = Duration::from_secs(60);

/// Starts a test over ssh and waits until it sends.
pub fn started(test: &[&str]) -> Result<Started> {
    let before = sent_bytes()?;
    let mut command = command(&words(test, OVER_SSH));
    let child = thread::spawn(move || command.output());
    let end = Instant::now() + STARTS;
    while sent_bytes()? < before + UNDER_WAY && !child.is_finished() {
        ensure!(Instant::now() < end, "nothing was sent for {STARTS:?}");
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
        let output = self.child.join().ok().context("its thread died")?;
        Ok(output?.into())
    }
}
