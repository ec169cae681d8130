//! Runs `bitcost test` in a situation and reads its answer.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::draw::Situation;

/// What a test said.
pub struct Answer {
    /// The limiter's name.
    pub limiter: String,
    /// Its confidence.
    pub confidence: String,
    /// Throughput in Mbit/s, or transactions per second.
    pub rate: f64,
    /// Messages per second, or transactions per second.
    pub messages: f64,
}

/// Makes a test of this many seconds.
///
/// # Errors
/// When it fails, with its last line.
pub fn test(
    bitcost: &Path,
    situation: &Situation,
    seconds: &str,
    is_proved: bool,
) -> Result<Answer> {
    let place = tempfile::tempdir()?;
    let lab = match situation.topology() {
        Some(text) => {
            let path = place.path().join("lab.toml");
            std::fs::write(&path, text)?;
            path.display().to_string()
        }
        None => situation.lab.unwrap_or("wire").to_owned(),
    };
    let mut command = Command::new(bitcost);
    command
        .current_dir(place.path())
        .args([
            "test",
            situation.workload,
            "--json",
            "-t",
            seconds,
            "--topology",
            &lab,
        ])
        .args(&situation.options)
        .args(situation.factors.iter().flat_map(|factor| factor.words()))
        .stdin(Stdio::null());
    command.args(match is_proved {
        true => ["--prove", "--out=log"].as_slice(),
        false => &["--no-log"],
    });
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}", said.lines().last().unwrap_or("no word"));
    }
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let median = |name: &str| document["cells"][0][name]["median"].as_f64();
    let (rate, messages) = match situation.workload {
        "rr" => ("transactions_per_second", "transactions_per_second"),
        _ => ("throughput_mbps", "messages_per_second"),
    };
    let word = |key: &str| document["bottleneck"][key].as_str().map(str::to_owned);
    Ok(Answer {
        limiter: word("limiter").unwrap_or_else(|| "unknown".to_owned()),
        confidence: word("confidence").unwrap_or_else(|| "none".to_owned()),
        rate: median(rate).context("no throughput")?,
        messages: median(messages).context("no messages")?,
    })
}
