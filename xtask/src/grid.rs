//! `cargo xtask grid`: every combination of what a search for fast options varies, and searches held against the best of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bitcost_analysis::experiment::{Base, Search};
use bitcost_model::Unavailable;
use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::search::{Changes, Goal};
use bitcost_model::settings::{apply, options};
use serde_json::{Value, json};

use crate::programs::given_or_built;

#[derive(clap::Args)]
pub struct Arguments {
    /// Also search ten times for each goal in each cell, and hold what is found against the best of the grid
    #[arg(long)]
    judge: bool,
    /// Cells whose name begins with this only, such as wire or pair-tcp-1024
    #[arg(long, default_value = "", hide_default_value = true)]
    cell: String,
    /// Passes over all combinations, and over the best of them
    #[arg(long, default_value_t = 3)]
    passes: u32,
    /// Length of a run; of the best it is five times as much
    #[arg(long, default_value_t = 0.2)]
    seconds: f64,
    /// Folder of a machine's results, and of logs of what is not done: what it has is not measured again
    #[arg(long, value_name = "FOLDER", default_value = "target/grid")]
    into: PathBuf,
    /// The bitcost to measure; else it is built as users build it
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// The paths, as tables of a study; no embedded lab has a rate.
#[rustfmt::skip]
const PATHS: [(&str, &str); 3] = [
    ("pair", "{ topology = 'pair' }"),
    ("wire", "{ topology = 'wire' }"),
    ("paced", "{ hosts = ['h1', 'h2'], link = [{ ends = ['h1', 'h2'], rate = '1G' }] }"),
];
const MESSAGES: [(Workload, u32); 4] = [
    (Workload::TcpStream, 1 << 10),
    (Workload::TcpStream, 8 << 10),
    (Workload::TcpStream, 128 << 10),
    (Workload::UdpStream, 64),
];
const MTU_BYTES: u32 = 1500;

/// How many of the best for each goal run again, and how much longer.
const BEST: usize = 30;
const LONGER: f64 = 5.0;

/// What is searched for, and the least share of the best that is as good.
const GOALS: [(Goal, f64); 2] = [(Goal::Rate, 0.97), (Goal::Cost, 1.0 / 1.05)];

/// Searches for each goal, how many of them must be as good, and how long they may take on average; and what a run takes beyond
/// its window.
const SEARCHES: usize = 10;
const ENOUGH: usize = 9;
const MOST_S: f64 = 3.0;
const RUN_S: f64 = 0.05;

/// What is asked for, and the bitcost that is measured.
type Grid<'a> = (&'a Arguments, &'a Path);

/// Settings by their label: of combinations their options in brackets.
type Levels = BTreeMap<String, Changes>;

/// Measures what the folder lacks, and judges searches; false where these missed the best.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let grid = (arguments, &*given_or_built(arguments.program.as_deref())?);
    fs::create_dir_all(&arguments.into)?;
    let mut cells = cells();
    cells.retain(|cell| cell.name.starts_with(&arguments.cell));
    for cell in &cells {
        println!("{}: {} combinations", cell.name, cell.combinations().len());
    }
    let mut all_good = true;
    for cell in &cells {
        let mut levels = cell.combinations();
        let first = kept(grid, cell, "all", &levels, arguments.seconds)?;
        let best = GOALS.map(|(goal, _)| ranked(&first, goal));
        let best: Vec<_> = best.iter().flat_map(|all| all.iter().take(BEST)).collect();
        levels.retain(|label, _| best.iter().any(|(of, _)| of == label));
        if arguments.judge {
            all_good &= judge(grid, cell, levels)?;
        } else {
            kept(grid, cell, "best", &levels, LONGER * arguments.seconds)?;
        }
    }
    Ok(all_good)
}

/// Messages on a path.
struct Cell {
    name: String,
    lab: &'static str,
    conditions: Conditions,
}

fn cells() -> Vec<Cell> {
    let all = PATHS.iter().flat_map(|path| MESSAGES.map(|of| (path, of)));
    let all = all.map(|((path, lab), (workload, bytes))| Cell {
        name: format!("{path}-{}-{bytes}", workload.info().short_name),
        lab,
        conditions: Conditions {
            message_size_bytes: bytes,
            ..Conditions::of(workload)
        },
    });
    all.collect()
}

impl Cell {
    /// All combinations of the levels of each setting that a search tries, without those that a test refuses.
    fn combinations(&self) -> Levels {
        let mut levels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut search = Search::new(Base::searched(&self.conditions, None), 0);
        while let Some((round, _)) = search.next(Duration::MAX, Duration::ZERO, &|_| true) {
            for (name, value) in round.into_iter().flat_map(|change| change.how.settings) {
                levels.entry(name).or_default().insert(value);
            }
        }
        let mut all = vec![Changes::new()];
        for (name, values) in levels {
            for mut changes in all.clone() {
                for value in &values {
                    changes.insert(name.clone(), value.clone());
                    all.push(changes.clone());
                }
            }
        }
        all.retain(|changes| {
            let mut changed = self.conditions.clone();
            apply(changes, &mut changed).is_ok() && changed.check(MTU_BYTES).is_ok()
        });
        all.into_iter()
            .map(|one| (format!("[{}]", options(&one)), one))
            .collect()
    }

    fn study(&self, levels: &Levels, passes: u32, seconds: f64) -> String {
        let level = |(label, changes): (&String, &Changes)| {
            let settings = changes
                .iter()
                .map(|(name, value)| format!(", {name} = '{value}'"));
            format!("{{ label = '{label}'{} }},\n", settings.collect::<String>())
        };
        format!(
            "title = 'Grid'\nquestion = 'Which is best?'\nlab = {}\nrun = {{ blocks = {passes} }}\n[workload]\nworkload = '{}'\n\
             message_size_bytes = {}\nduration_s = {seconds}\nwarmup_s = 0.02\nidle_baseline_s = 0\n[[factor]]\nname = 'options'\n\
             levels = [\n{}]\n",
            self.lab,
            self.conditions.workload.name(),
            self.conditions.message_size_bytes,
            levels.iter().map(level).collect::<String>()
        )
    }
}

/// The document of runs, which are made where no file has it.
fn kept(
    (arguments, bitcost): Grid,
    cell: &Cell,
    what: &str,
    levels: &Levels,
    seconds: f64,
) -> Result<Value> {
    let passes = arguments.passes;
    let name = format!("{}-{what}-{passes}x{:.0}ms", cell.name, 1e3 * seconds);
    let logs = arguments.into.join(name);
    let [study, file, new] = ["toml", "json", "new"].map(|ending| logs.with_extension(ending));
    if !file.exists() {
        let mut command = Command::new(bitcost);
        command.args(["run", "--json", "--no-calibration"]);
        if let Some(log) = fs::read_dir(&logs).ok().and_then(|mut all| all.next()) {
            command.arg("--resume").arg(log?.path());
        } else {
            fs::write(&study, cell.study(levels, passes, seconds))?;
            command.arg(study).arg("--seed=1").arg("--out").arg(&logs);
        }
        let began = Instant::now();
        // It says how long it takes, and why it has no document.
        let output = command.stderr(Stdio::inherit()).output()?;
        let why = || format!("{}: bitcost {}", file.display(), output.status);
        if output.stdout.is_empty() && output.status.code() == Some(3) {
            return Err(Unavailable(why()).into());
        }
        let mut document: Value = serde_json::from_slice(&output.stdout).with_context(why)?;
        document["took_s"] = json!(began.elapsed().as_secs_f64());
        // A file that is there is whole.
        fs::write(&new, document.to_string())?;
        fs::rename(new, &file)?;
        fs::remove_dir_all(logs)?;
    }
    let document: Value = serde_json::from_slice(&fs::read(&file)?)?;
    for run in document["excluded"].as_array().into_iter().flatten() {
        println!("  left out: {}: {}", run["levels"], run["reason"]);
    }
    Ok(document)
}

/// Makes searches, whose results run interleaved with these combinations.
fn judge(grid: Grid, cell: &Cell, mut levels: Levels) -> Result<bool> {
    for (goal, _) in GOALS {
        for number in 0..SEARCHES {
            let mode = [("mode", "auto"), ("search_for", goal.name())];
            let mode = mode.map(|(name, value)| (name.to_owned(), value.to_owned()));
            levels.insert(format!("{} {number}", goal.name()), mode.into());
        }
    }
    let seconds = LONGER * grid.0.seconds;
    let document = kept(grid, cell, "judged", &levels, seconds)?;
    let runs = levels.len() as f64 * f64::from(grid.0.passes);
    let searches_s = document["took_s"].as_f64().unwrap_or(0.0) - runs * (seconds + RUN_S);
    let mean_s = searches_s / 2.0 / SEARCHES as f64;
    println!("  a search takes {mean_s:.1} s");
    let mut all_good = mean_s <= MOST_S;
    for (goal, least) in GOALS {
        let all = ranked(&document, goal);
        let best = all.iter().find(|(label, _)| label.starts_with('['));
        let (label, best) = best.context("no combination has a result")?;
        let found = all
            .iter()
            .filter(|(label, _)| label.starts_with(goal.name()));
        let shares: Vec<f64> = found.map(|(_, found)| found / best).collect();
        let good = shares.iter().filter(|share| **share >= least).count();
        println!(
            "  {}: {good} are as good as {label}: {shares:.3?}",
            goal.name()
        );
        all_good &= good >= ENOUGH;
    }
    Ok(all_good)
}

/// How good each level is for a goal, the best first.
fn ranked(document: &Value, goal: Goal) -> Vec<(&str, f64)> {
    let cells = document["cells"].as_array().into_iter().flatten();
    let figure = |cell: &Value| {
        let median = |name: &str| cell[name]["median"].as_f64();
        let cost = |end: &str| median(&format!("{end}_service_demand_us_per_kib"));
        match goal {
            Goal::Rate => median("throughput_mbps"),
            Goal::Cost => Some(1.0 / (cost("send")? + cost("receive")?)),
        }
    };
    let all = cells.filter_map(|cell| Some((cell["levels"]["options"].as_str()?, figure(cell)?)));
    let mut all: Vec<(&str, f64)> = all.collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

#[cfg(test)]
mod tests {
    use bitcost_study::Study;

    use super::*;

    #[test]
    fn a_study_accepts_all_combinations_and_has_all_levels_of_a_search() {
        for cell in cells() {
            let (name, all) = (&cell.name, cell.combinations());
            let study = Study::parse("grid.toml", &cell.study(&all, 1, 0.2));
            let study = study.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(study.cell_count(), all.len(), "{name}");
            for level in ["waiting=spin", "messages_per_call=16"] {
                let of = all.keys().filter(|label| label.contains(level));
                assert!(of.count() > 1, "{name}: {level}");
            }
        }
    }
}
