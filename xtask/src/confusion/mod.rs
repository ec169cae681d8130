//! `cargo xtask confusion`: runs whose limiter is known by construction, compared with the limiter
//! that bitcost names.

mod able;
mod came_about;
mod numbers;
mod plain;
mod quota;
mod random;
mod scenarios;
mod table;
mod testbed;
mod trial;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bitcost_analysis::explain::{RunFigures, cost_models};

use crate::programs::{given_or_built, root};
use able::Able;
use plain::Line;
use scenarios::{Scenario, all};
use table::Row;
use trial::{Models, Trial};

pub use testbed::{delay_node, node_qdisc};

/// CPUs that other programs may use in a run whose bottleneck is known; a link emulator uses up to
/// a third of one.
const FOREIGN_CPUS: f64 = 0.5;

/// What to try and how often.
#[derive(clap::Args)]
pub struct Arguments {
    /// Repeats of every scenario, in turn
    #[arg(long, default_value_t = 1)]
    repeats: u32,
    /// Scenarios whose name contains this only
    #[arg(long)]
    only: Option<String>,
    /// Append every run with its records to this file
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Run nothing: judge the runs of these files [default: all of bench/recordings]
    #[arg(long, value_name = "FILE", num_args = 0..)]
    recordings: Option<Vec<PathBuf>>,
    /// The bitcost to run; absent: it is built in release mode
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Print every candidate with its evidence, of runs whose verdict is wrong or unknown
    #[arg(long)]
    why: bool,
    /// Exit 1 when the promises are not kept
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    random: random::Random,
}

/// Runs or reads the trials, and prints the table; false when `--check` finds a promise broken.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.random.is_wanted() {
        random::run(
            &given_or_built(arguments.program.as_deref())?,
            &arguments.random,
        )?;
        return Ok(true);
    }
    let files = match &arguments.recordings {
        Some(files) if files.is_empty() => kept_files()?,
        files => files.clone().unwrap_or_default(),
    };
    let (mut trials, not_run) = match files.as_slice() {
        [] => measured(arguments)?,
        files => (read(files)?, 0),
    };
    let models = models(&trials);
    let (mut rows, mut disturbed, mut missing) = (Vec::new(), 0, Vec::new());
    for trial in trials.iter_mut().filter(|trial| trial.sweep.is_none()) {
        let Some(scenario) = scenarios::named(&trial.scenario) else {
            continue;
        };
        if !is_wanted(arguments, scenario) {
            continue;
        }
        if trial.foreign_cpus().is_some_and(|cpus| cpus > FOREIGN_CPUS) {
            disturbed += 1;
            continue;
        }
        if let Some(why) = came_about::missing(scenario, trial) {
            missing.push(format!("{} ({why})", trial.scenario));
            continue;
        }
        trial.strip(scenario.without);
        let row = Row::of(scenario, trial, &models);
        if arguments.why && !row.is_right() {
            println!("{}", table::why(&row, trial, &models));
        }
        rows.push(row);
    }
    println!("did not come about, not judged: {}", missing.len());
    missing.iter().for_each(|what| println!("  {what}"));
    if rows.is_empty() {
        bail!("no run of these scenarios is left to judge");
    }
    let (text, kept) = table::table(&rows);
    print!("{text}");
    for (source, path) in files.iter().enumerate() {
        let name = path.file_stem().unwrap_or_default().display();
        println!("{name}: {}", table::of_source(&rows, source));
    }
    println!(
        "disturbed runs, in which something else used over {FOREIGN_CPUS} CPUs: {disturbed}, left out"
    );
    println!("not run: {not_run}");
    Ok((kept && not_run == 0) || !arguments.check)
}

fn is_wanted(arguments: &Arguments, scenario: &Scenario) -> bool {
    let only = arguments.only.as_deref();
    only.is_none_or(|only| scenario.name.contains(only))
}

/// Every wanted scenario in every repeat, and one sweep over sizes for the cost model; and how many of
/// these runs could not be made.
fn measured(arguments: &Arguments) -> Result<(Vec<Trial>, usize)> {
    let bitcost = given_or_built(arguments.program.as_deref())?;
    let wanted: Vec<&Scenario> = all()
        .filter(|scenario| is_wanted(arguments, scenario))
        .collect();
    let able = if wanted.iter().any(|scenario| scenario.is_scaled()) {
        let able = trial::able(&bitcost)?;
        println!("{able}");
        able
    } else {
        Able::default()
    };
    let (mut trials, mut not_run) = (Vec::new(), 0);
    let mut take = |trial: Result<Trial>, name: &str| -> Result<()> {
        match trial {
            Ok(trial) => {
                keep(arguments, &trial)?;
                trials.push(trial);
            }
            Err(error) => {
                println!("{name}: no run: {error:#}");
                not_run += 1;
            }
        }
        Ok(())
    };
    for base in &wanted {
        for size in &base.sweep {
            take(trial::sweep(base, *size, &able, &bitcost), base.name)?;
        }
    }
    for repeat in 0..arguments.repeats {
        for scenario in &wanted {
            take(trial::run(scenario, repeat, &able, &bitcost), scenario.name)?;
        }
    }
    Ok((trials, not_run))
}

fn keep(arguments: &Arguments, trial: &Trial) -> Result<()> {
    let Some(path) = &arguments.keep else {
        return Ok(());
    };
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path);
    let mut file = file.with_context(|| format!("open {}", path.display()))?;
    writeln!(file, "{}", serde_json::to_string(&Line::of(trial)?)?)?;
    Ok(())
}

/// The recordings of the repository, in the order of their names.
fn kept_files() -> Result<Vec<PathBuf>> {
    let files = std::fs::read_dir(root().join("bench/recordings"))?;
    let files: Result<Vec<PathBuf>, _> = files.map(|file| Ok(file?.path())).collect();
    let mut files = files.map_err(|error: std::io::Error| error)?;
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

/// The cost models of each file and scenario that has a sweep: machines differ in what a packet
/// costs.
fn models(trials: &[Trial]) -> Models {
    let mut sweeps: BTreeMap<(usize, String), Vec<RunFigures>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.sweep.is_some()) {
        let key = (trial.source, trial.scenario.clone());
        sweeps.entry(key).or_default().push(trial.figures());
    }
    let model = |(key, figures): (_, Vec<RunFigures>)| (key, cost_models(&figures, 0));
    sweeps.into_iter().map(model).collect()
}
