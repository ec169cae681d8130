//! `cargo xtask confusion`: runs whose limiter is known, compared with the limiter that bitcost names.

mod quota;
mod random;
mod recording;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use bitcost_analysis::explain::{Packet, packet_line};

use crate::programs::{given_or_built, root};
use recording::{Line, Lines, Trial};
use table::Row;

#[derive(clap::Args)]
pub struct Arguments {
    /// Judge the runs of these files [default: all of bench/recordings]
    #[arg(long, value_name = "FILE", num_args = 0..)]
    recordings: Vec<PathBuf>,
    /// The bitcost to run; absent: it is built in release mode
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Print the evidence of runs whose verdict is wrong or unknown
    #[arg(long)]
    why: bool,
    /// Exit 1 when the promises are not kept
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    random: random::Random,
}

/// Judges the recordings, or random situations, and prints the table; false when `--check` finds a promise broken.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.random.is_wanted() {
        let program = given_or_built(arguments.program.as_deref())?;
        random::run(&program, &arguments.random)?;
        return Ok(true);
    }
    let files = match arguments.recordings.is_empty() {
        true => kept_files()?,
        false => arguments.recordings.clone(),
    };
    let trials = read(&files)?;
    let lines = lines(&trials);
    let mut rows = Vec::new();
    for trial in trials.iter().filter(|trial| trial.sweep.is_none()) {
        let row = Row::of(trial, &lines);
        if arguments.why && !row.is_right() {
            println!("{}", row.why(trial));
        }
        rows.push(row);
    }
    let (text, kept) = table::table(&rows);
    print!("{text}");
    Ok(kept || !arguments.check)
}

/// The recordings of the repository, in the order of their names.
fn kept_files() -> Result<Vec<PathBuf>> {
    let files = std::fs::read_dir(root().join("bench/recordings"))?;
    let files: std::io::Result<Vec<PathBuf>> = files.map(|file| Ok(file?.path())).collect();
    let mut files = files?;
    files.retain(|file| file.extension().is_some_and(|name| name == "jsonl"));
    files.sort();
    Ok(files)
}

fn read(files: &[PathBuf]) -> Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for (source, path) in files.iter().enumerate() {
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("read {}", path.display()))?;
        for line in text.lines() {
            let line: Line = serde_json::from_str(line)
                .with_context(|| format!("{}: no recording", path.display()))?;
            trials.push(line.trial(source)?);
        }
    }
    Ok(trials)
}

/// What packets cost in each file and scenario that has runs of several sizes: machines differ in that.
fn lines(trials: &[Trial]) -> Lines {
    let mut sweeps: BTreeMap<(usize, String), Vec<Packet>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.sweep.is_some()) {
        let key = (trial.source, trial.scenario.clone());
        sweeps.entry(key).or_default().extend(trial.packet());
    }
    let line = |(key, packets)| Some((key, packet_line(packets, 0)?));
    sweeps.into_iter().filter_map(line).collect()
}
