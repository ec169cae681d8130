//! `cargo xtask cases`: public cases of slow transfers, each rebuilt in network namespaces by its `up.sh`, `cure.sh` and `down.sh`: what
//! `bitcost test` says of the same traffic, and what its remedies bring, compared with the cure; or what `bitcost explain` says of the
//! case's own programs.

mod case;
mod foreign;
mod stand;
mod table;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use bitcost_analysis::explain::Remedy;
use bitcost_render::explained::said;
use serde_json::json;

use crate::programs::{append, given_or_built, remedied, require};
use case::{Own, SECONDS, Table};
use stand::{Field, Stand};
use table::{Row, table};

/// Which cases, and where their results are kept.
#[derive(clap::Args)]
pub struct Arguments {
    /// The folder of cases, such as bench/cases, which has them as NN-NAME or GROUP/cases/NN-NAME
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
    /// Explain the programs of each case while they run, instead of testing
    #[arg(long)]
    foreign: bool,
    /// Read both ends of the programs' connections
    #[arg(long, requires = "foreign")]
    at: bool,
    /// Run nothing, and print the table of what this folder has
    #[arg(long, value_name = "FOLDER", conflicts_with = "folder")]
    table: Option<PathBuf>,
}

/// Runs the cases and prints their table.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let out = arguments.table.as_ref().unwrap_or(&arguments.out);
    let file = out.join(match (arguments.foreign, arguments.at) {
        (true, true) => "both.jsonl",
        (true, false) => "foreign.jsonl",
        (false, _) => "cases.jsonl",
    });
    if let Some(folder) = &arguments.folder {
        let is_root = bitcost_sys::process::effective_uid() == 0;
        ensure!(is_root, "root alone builds the hosts of cases");
        require(
            "timeout bash ip taskset iperf3",
            "coreutils bash iproute2 util-linux iperf3",
        )?;
        let field = Field::take(given_or_built(arguments.program.as_deref())?)?;
        std::fs::create_dir_all(out)?;
        let known: Table = toml_edit::de::from_str(include_str!("own.toml"))?;
        let only = arguments.only.as_deref().unwrap_or_default();
        for (case, own) in known.cases(&folder.canonicalize()?, only)? {
            let mut row = Row::default();
            (row.case, row.test) = (case, own.test.clone());
            row.cure_words.clone_from(&own.cure_words);
            let tested = match arguments.foreign {
                true => foreign::explained(&mut row, (&own, arguments.at), &field),
                false => tested(&mut row, &own, &field),
            };
            row.failed = tested.map_or_else(|error| format!("{error:#}"), |()| String::new());
            field.go_on()?;
            append(&file, &row)?;
            eprint!("{}", row.line());
        }
    }
    print!("{}", table(&file)?);
    Ok(true)
}

/// Tests as it is, with the cure, and with one remedy after the other until one is useful.
fn tested(row: &mut Row, own: &Own, field: &Field) -> Result<()> {
    ensure!(!own.test.is_empty(), "no options make its traffic");
    let stand = Stand::up(own, field)?;
    let (measured, more) = match (&*row.case.metric, own.test.contains("rr ")) {
        ("loss", _) => ("loss_pct", ""),
        ("latency", true) => ("latency_mean_us", "--latency"),
        (_, true) => ("transactions_per_second", ""),
        _ => ("throughput_mbps", ""),
    };
    row.measured = measured.to_owned();
    let more = format!("-t {SECONDS} {more}");
    let judged = stand.test(&format!("{} {more} --prove --budget 30s", own.test));
    if let Ok((document, _)) = &judged {
        row.verdict = document["bottleneck"].clone();
        let is_rate = measured.ends_with("mbps");
        row.before = row.figure(document).or(is_rate.then_some(0.0));
    }
    let is_control = row.case.is_control();
    let test = match is_control || own.cured.is_empty() {
        true => &own.test,
        false => &own.cured,
    };
    if !is_control {
        stand.script("cure")?;
    }
    let cured = stand.test(&format!("{test} {more}"));
    let (document, seconds) = cured.context("with the cure")?;
    // What a test takes beside its own seconds is no part of deciding.
    let around = seconds - SECONDS;
    row.seconds = judged.as_ref().map_or(0.0, |judged| judged.1 - around);
    if !is_control {
        row.cured = row.figure(&document);
        drop(stand);
        try_remedies(row, own, field, &more)?;
    }
    judged.map(drop)
}

/// Tests with one remedy after the other until one is useful.
fn try_remedies(row: &mut Row, own: &Own, field: &Field, more: &str) -> Result<()> {
    let words: Vec<String> = own.test.split(' ').map(str::to_owned).collect();
    // Those that the screen of a test says.
    let all: Option<Vec<Remedy>> = serde_json::from_value(row.verdict["remedies"].clone())?;
    let all = all.unwrap_or_default();
    let (remedies, _) = said(&all, row.verdict["confidence"] == "proved");
    // The case as it is, until a command changes it.
    let mut unchanged = None;
    for remedy in remedies.into_iter().map(|one| json!(one)) {
        // The command where the test or the service refuses the options.
        let options = remedied(&words, &remedy).map(|test| (test, false));
        let command = remedy["command"].is_string();
        let command = command.then(|| (words.clone(), true));
        for (test, by_root) in options.into_iter().chain(command) {
            if row.is_useful() == Some(true) {
                return Ok(());
            }
            let stand = match unchanged.take() {
                Some(stand) => stand,
                None => Stand::up(own, field)?,
            };
            let made = match by_root {
                true => stand.apply(&remedy),
                false => Ok(()),
            };
            let tested = made.and_then(|()| stand.test(&format!("{} {more}", test.join(" "))));
            let value = tested.ok().and_then(|(document, _)| row.figure(&document));
            row.tried.push((remedy.clone(), value));
            unchanged = (!by_root).then_some(stand);
            if value.is_some() {
                break;
            }
        }
    }
    Ok(())
}
