//! `cargo xtask bench-peers`: every generator on one path, one after the other in random order, as ratios.

mod cases;
mod field;
mod ours;
mod peers;
mod table;
pub mod variants;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use cases::Case;
use field::Field;
use peers::Rival;

/// What to compare and how long.
#[derive(clap::Args)]
pub struct Arguments {
    /// Fewer sizes and shorter rounds: under 4 minutes
    #[arg(long)]
    quick: bool,
    /// Rounds; in each, every generator runs every case once
    #[arg(long)]
    rounds: Option<u32>,
    /// Seconds of each run
    #[arg(long)]
    seconds: Option<f64>,
    /// Cases whose name begins with this only, such as tcp or udp/64
    #[arg(long)]
    only: Option<String>,
    /// Both ends on one CPU
    #[arg(long)]
    one_cpu: bool,
    /// Exit 1 when a target is missed
    #[arg(long)]
    check: bool,
}

/// One run of one generator.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Messages or transactions per second, at the sender.
    pub per_second: f64,
    /// CPU time of the whole machine per KiB of user data, in µs; absent where it could not be read.
    pub cpu_us_per_kib: Option<f64>,
}

/// All figures of one generator in one case, with the round as the block.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Round and rate.
    pub rates: Vec<(u32, f64)>,
    /// Round and CPU time per KiB.
    pub cpu: Vec<(u32, f64)>,
}

impl Series {
    fn add(&mut self, round: u32, figure: Figure) {
        self.rates.push((round, figure.per_second));
        self.cpu.extend(figure.cpu_us_per_kib.map(|cpu| (round, cpu)));
    }
}

/// Runs the comparison; false when `--check` found a target missed.
///
/// # Errors
/// When a peer cannot be had or the lab cannot be built.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let bitcost = built("bitcost")?;
    let rivals = peers::all(&c_loop()?)?;
    let cases = cases::all(arguments.quick, arguments.only.as_deref());
    if cases.is_empty() {
        bail!("no case begins with {:?}", arguments.only);
    }
    let rounds = arguments.rounds.unwrap_or(if arguments.quick { 3 } else { 7 });
    let seconds = arguments.seconds.unwrap_or(if arguments.quick { 0.5 } else { 1.0 });
    println!("{}", table::head(&rivals, rounds, seconds, arguments.one_cpu));
    let mut missed = Vec::new();
    for case in &cases {
        let field = Field::build(case.mtu_bytes, arguments.one_cpu)?;
        let series = compare(case, &field, &bitcost, &rivals, rounds, seconds)?;
        println!("{}", table::row(case, &series));
        missed.extend(table::missed(case, &series));
    }
    for target in &missed {
        println!("missed: {target}");
    }
    Ok(missed.is_empty() || !arguments.check)
}

/// Every generator of a case in every round, in an order that turns from round to round. Ours is first in the result.
fn compare(
    case: &Case,
    field: &Field,
    bitcost: &Path,
    rivals: &[Rival],
    rounds: u32,
    seconds: f64,
) -> Result<Vec<(String, Series)>> {
    let fit: Vec<&Rival> = rivals.iter().filter(|rival| rival.can(case)).collect();
    let names = std::iter::once("bitcost").chain(fit.iter().map(|rival| rival.name));
    let mut series: Vec<(String, Series)> = names.map(|name| (name.to_owned(), Series::default())).collect();
    for round in 0..rounds {
        for turn in 0..series.len() {
            let index = (turn + round as usize) % series.len();
            let figure = match index.checked_sub(1).map(|rival| fit[rival]) {
                None => ours::measure(case, field, bitcost, seconds),
                Some(rival) => peers::measure(rival, case, field, seconds),
            };
            let (name, series) = &mut series[index];
            match figure {
                Ok(figure) => series.add(round, figure),
                Err(error) => eprintln!("{} {name}, round {}: {error:#}", case.name(), round + 1),
            }
        }
    }
    Ok(series)
}

/// A program of this workspace, built in release mode beside this one.
fn built(name: &str) -> Result<PathBuf> {
    let status = Command::new(env!("CARGO")).args(["build", "--release", "--package", name]).status();
    if !status.context("cargo build")?.success() {
        bail!("cargo build --release --package {name} failed");
    }
    let path = std::env::current_exe()?.with_file_name(name);
    if path.exists() { Ok(path) } else { bail!("{} is not there", path.display()) }
}

/// The C loop, compiled.
fn c_loop() -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/peers/loop.c");
    let program = std::env::current_exe()?.with_file_name("bench-peers-loop");
    let status = Command::new("cc").args(["-O2", "-Wall", "-o"]).arg(&program).arg(&source).status();
    if !status.context("run cc (Debian: apt-get install gcc)")?.success() {
        bail!("cc could not compile {}", source.display());
    }
    Ok(program)
}
