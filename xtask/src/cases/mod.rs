//! `cargo xtask cases`: public cases of slow transfers, each rebuilt in network namespaces by its `up.sh`, `cure.sh` and `down.sh`: what
//! `bitcost test` says of the same traffic, and what its remedy brings, compared with the cure.

mod case;
mod stand;
mod table;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::programs::{append, given_or_built, median, require, stop_flag};
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
            let tested = tested(&known, &mut row, &own, &program, &stop);
            row.failed = tested.map_or_else(|error| format!("{error:#}"), |()| String::new());
            ensure!(!stop.load(Ordering::Relaxed), "stopped");
            append(&file, &row)?;
            eprint!("{}", row.line());
        }
    }
    print!("{}", table(&file)?);
    Ok(true)
}

/// Tests as it is, with each part of the remedy, and with the cure.
fn tested(
    known: &Table,
    row: &mut Row,
    own: &Own,
    program: &Path,
    stop: &AtomicBool,
) -> Result<()> {
    ensure!(!own.test.is_empty(), "no options make its traffic");
    let stand = Stand::up(own, program)?;
    let (measured, more) = match (&*row.case.metric, own.test.contains("rr ")) {
        ("loss", _) => ("loss_pct", "-t 4"),
        ("latency", true) => ("latency_mean_us", "-t 4 --latency"),
        (_, true) => ("transactions_per_second", "-t 4"),
        _ => ("throughput_mbps", "-t 4"),
    };
    row.measured = measured.to_owned();
    let figure = |document: &Value| median(document, measured).ok();
    let began = Instant::now();
    let judged = stand.test(&format!("{} {more} --prove --budget 30s", own.test), stop);
    row.seconds = began.elapsed().as_secs_f64();
    if let Ok(document) = &judged {
        row.verdict = document["bottleneck"].clone();
        row.before = figure(document);
    }
    if row.case.is_control() {
        return judged.map(drop);
    }
    let remedy = row.verdict["remedy"].as_str().unwrap_or_default();
    for changed in known.made(&own.test, remedy) {
        let document = stand.test(&format!("{changed} {more}"), stop);
        let value = document.ok().and_then(|document| figure(&document));
        row.tried.push((changed, value));
    }
    stand.script("cure")?;
    let cured = match own.cured.is_empty() {
        true => &own.test,
        false => &own.cured,
    };
    let cured = stand.test(&format!("{cured} {more}"), stop);
    row.cured = figure(&cured.context("with the cure")?);
    judged.map(drop)
}
