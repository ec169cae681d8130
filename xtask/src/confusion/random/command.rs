//! Runs `bitcost test` in a situation and reads what it says.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::draw::Situation;
use super::factor::Kind;
use crate::confusion::quota::{Quota, inside};
use crate::programs::median;

/// Length of the test that is judged, in seconds.
const JUDGED_SECONDS: &str = "2";

/// What bitcost says of a test.
pub struct Answer {
    pub limiter: String,
    pub confidence: String,
    pub remedies: Vec<Value>,
    /// Throughput in Mbit/s, or transactions per second.
    pub rate: f64,
}

pub struct Measured {
    /// Throughput in Mbit/s, or transactions per second.
    pub rate: f64,
    /// Messages per second, or transactions per second.
    pub messages: f64,
}

/// Makes the test that is judged, with its log in this folder.
pub fn judged(bitcost: &Path, situation: &Situation, log: &Path, is_proved: bool) -> Result<()> {
    std::fs::create_dir_all(log)?;
    let mut words = vec!["-t", JUDGED_SECONDS];
    if is_proved {
        words.push("--prove");
    }
    let out = format!("--out={}", log.display());
    words.push(&out);
    test(bitcost, situation, &words).map(drop)
}

/// What bitcost says of the test with this log.
pub fn answer(bitcost: &Path, situation: &Situation, log: &Path) -> Result<Answer> {
    let mut folders = std::fs::read_dir(log)?;
    let folder = folders.next().context("no log")??.path();
    let mut command = Command::new(bitcost);
    command.arg("show").arg(&folder).arg("--json");
    let document = document(command)?;
    let verdict = &document["bottleneck"];
    let word = |key: &str| verdict[key].as_str().map(str::to_owned);
    Ok(Answer {
        limiter: word("limiter").unwrap_or_else(|| "unknown".to_owned()),
        confidence: word("confidence").unwrap_or_else(|| "none".to_owned()),
        remedies: verdict["remedies"].as_array().cloned().unwrap_or_default(),
        rate: measured(situation, &document)?.rate,
    })
}

/// Makes a short run, whose window holds many round trips.
pub fn short(bitcost: &Path, situation: &Situation) -> Result<Measured> {
    let round_trip = 2e-6 * situation.value(Kind::Delay).unwrap_or(0.0);
    let is_lossy = situation.value(Kind::Loss).is_some();
    let longer = if is_lossy { 2.0 } else { 1.0 };
    let window = (longer * (0.25 + 12.0 * round_trip)).min(2.0).to_string();
    let warm_up = (0.1 + 12.0 * round_trip).min(2.0).to_string();
    let words = ["-t", &window, "--warmup", &warm_up, "--no-log"];
    measured(situation, &test(bitcost, situation, &words)?)
}

fn test(bitcost: &Path, situation: &Situation, words: &[&str]) -> Result<Value> {
    let place = tempfile::tempdir()?;
    let lab = match situation.topology() {
        Some(text) => {
            let path = place.path().join("lab.toml");
            std::fs::write(&path, text)?;
            path.display().to_string()
        }
        None => situation.lab.unwrap_or("wire").to_owned(),
    };
    let quota = situation
        .value(Kind::Quota)
        .map(|percent| Quota::new(percent as u32));
    let quota = quota.transpose()?;
    let mut command = match &quota {
        Some(quota) => inside(&quota.group, bitcost),
        None => Command::new(bitcost),
    };
    command
        .current_dir(place.path())
        .args(["test", situation.workload, "--json"])
        .args(["--topology", &lab])
        .args(words)
        .args(&situation.options)
        .args(situation.factors.iter().flat_map(|factor| factor.words()));
    document(command)
}

fn document(mut command: Command) -> Result<Value> {
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}", said.lines().last().unwrap_or("no word"));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn measured(situation: &Situation, document: &Value) -> Result<Measured> {
    let (rate, messages) = match situation.workload {
        "rr" => ("transactions_per_second", "transactions_per_second"),
        _ => ("throughput_mbps", "messages_per_second"),
    };
    Ok(Measured {
        rate: median(document, rate)?,
        messages: median(document, messages)?,
    })
}
