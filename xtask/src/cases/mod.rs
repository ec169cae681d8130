//! `cargo xtask cases`: public cases of slow transfers, each rebuilt in network namespaces by its `up.sh`, `cure.sh` and `down.sh`: what
//! `bitcost test` says of the same traffic, and what its remedies bring, compared with the cure.

mod case;
mod stand;
mod table;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::programs::{append, given_or_built, median, remedied, require, stop_flag};
use case::{Own, Table};
use stand::Stand;
use table::{Row, table};

/// Which cases, and where their results are kept.
#[derive(clap::Args)]
pub struct Arguments {
    /// The folder of cases, which has them as GROUP/cases/NN-NAME
    #[arg(required_unless_present = "table")]
    folder: Option<PathBuf>,
    /// Cases whose name contains this
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// The bitcost to judge; else it is built as users build it
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// The folder for a line of JSON for each case
    #[arg(long, value_name = "FOLDER", default_value = "target/cases")]
    out: PathBuf,
    /// Run nothing, and print the table of what this folder has
    #[arg(long, value_name = "FOLDER", conflicts_with = "folder")]
    table: Option<PathBuf>,
}

/// Runs the cases and prints their table.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let out = arguments.table.as_ref().unwrap_or(&arguments.out);
    let file = out.join("cases.jsonl");
    if let Some(folder) = &arguments.folder {
        let is_root = bitcost_sys::process::effective_uid() == 0;
        ensure!(is_root, "root alone builds the hosts of cases");
        require(
            "timeout bash ip taskset iperf3",
            "coreutils bash iproute2 util-linux iperf3",
        )?;
        let program = given_or_built(arguments.program.as_deref())?;
        std::fs::create_dir_all(out)?;
        let stop = stop_flag()?;
        let known: Table = toml_edit::de::from_str(include_str!("own.toml"))?;
        let only = arguments.only.as_deref().unwrap_or_default();
        for (case, own) in known.cases(&folder.canonicalize()?, only)? {
            let mut row = Row::default();
            (row.case, row.test) = (case, own.test.clone());
            row.cure_words.clone_from(&own.cure_words);
            let tested = tested(&mut row, &own, &program, &stop);
            row.failed = tested.map_or_else(|error| format!("{error:#}"), |()| String::new());
            ensure!(!stop.load(Ordering::Relaxed), "stopped");
            append(&file, &row)?;
            eprint!("{}", row.line());
        }
    }
    print!("{}", table(&file)?);
    Ok(true)
}

/// The length of a test, in seconds, and the most remedies that are tried.
const SECONDS: f64 = 4.0;
const MOST: usize = 6;

/// Tests as it is, with the cure, and with one remedy after the other until one is useful.
fn tested(row: &mut Row, own: &Own, program: &Path, stop: &AtomicBool) -> Result<()> {
    ensure!(!own.test.is_empty(), "no options make its traffic");
    let mut stand = Stand::up(own, program)?;
    let (measured, more) = match (&*row.case.metric, own.test.contains("rr ")) {
        ("loss", _) => ("loss_pct", ""),
        ("latency", true) => ("latency_mean_us", "--latency"),
        (_, true) => ("transactions_per_second", ""),
        _ => ("throughput_mbps", ""),
    };
    row.measured = measured.to_owned();
    let more = format!("-t {SECONDS} {more}");
    // A run in which all is lost is left out.
    let lost = |document: &Value| !document["excluded"].is_null() && measured == "loss_pct";
    let figure = |(document, _): &(Value, f64)| {
        let value = median(document, measured).ok();
        value.or(lost(document).then_some(100.0))
    };
    let judged = stand.test(&format!("{} {more} --prove --budget 30s", own.test), stop);
    if let Ok(judged) = &judged {
        row.verdict = judged.0["bottleneck"].clone();
        let is_rate = measured.ends_with("mbps");
        row.before = figure(judged).or(is_rate.then_some(0.0));
    }
    let cured = match (row.case.is_control(), own.cured.is_empty()) {
        (false, false) => &own.cured,
        _ => &own.test,
    };
    if !row.case.is_control() {
        stand.script("cure")?;
    }
    let cured = stand.test(&format!("{cured} {more}"), stop);
    let cured = cured.context("with the cure")?;
    // What a test takes beside its own seconds is no part of deciding.
    let around = cured.1 - SECONDS;
    row.seconds = judged.as_ref().map_or(0.0, |judged| judged.1 - around);
    if row.case.is_control() {
        return judged.map(drop);
    }
    row.cured = figure(&cured);
    let words: Vec<String> = own.test.split(' ').map(str::to_owned).collect();
    let remedies = row.verdict["remedies"].as_array().cloned();
    let mut is_changed = true;
    for remedy in remedies.into_iter().flatten().take(MOST) {
        // The command where the test or the service refuses the options.
        let options = remedied(&words, &remedy);
        let command = remedy["command"].is_string().then(|| words.clone());
        for (test, by_root) in [(options, false), (command, true)] {
            let Some(test) = test.filter(|_| row.is_useful() != Some(true)) else {
                continue;
            };
            if is_changed {
                drop(stand);
                stand = Stand::up(own, program)?;
            }
            is_changed = by_root;
            let made = if by_root {
                stand.apply(&remedy)
            } else {
                Ok(())
            };
            let test = format!("{} {more}", test.join(" "));
            let value = made.and_then(|()| stand.test(&test, stop)).ok();
            let value = value.and_then(|measured| figure(&measured));
            row.tried.push((remedy.clone(), value));
            if value.is_some() {
                break;
            }
        }
    }
    judged.map(drop)
}
