//! `cargo xtask known-work`: whether CPU time that one endpoint works on each message is found again
//! in the cost of this endpoint, and not in that of the other.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use bitcost_stats::{Scale, change, paired_change};
use serde_json::{Map, Value};

use crate::programs::{given_or_built, output};

/// What to run, and how often.
#[derive(clap::Args)]
pub struct Arguments {
    /// The bitcost to try; else it is built as users build it
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// How often each of the 12 cells is measured, 12 s a block
    #[arg(long, default_value_t = 24)]
    blocks: u32,
    /// The seed of the order
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Exit with 1 where a difference is not within its bounds
    #[arg(long)]
    check: bool,
}

const STUDY: &str = include_str!("known_work.toml");

/// The work of the study on each message, and the bound of the error, in µs.
const WORK_US: f64 = 2.0;
const BOUND_US: f64 = 0.2;

const TRANSPORTS: [&str; 4] = [
    "UDP",
    "TCP, offloads on",
    "TCP, offloads off",
    "TCP, one segment a packet",
];

const ENDS: [&str; 2] = ["sender", "receiver"];

/// The ways to tell the cost of a message, in µs: a message is one KiB. Each with the metrics of the
/// two ends.
const METHODS: [(&str, [&str; 2]); 2] = [
    (
        "thread clocks",
        [
            "sender_thread_cpu_us_per_kib",
            "receiver_thread_cpu_us_per_kib",
        ],
    ),
    (
        "service demand",
        [
            "send_service_demand_us_per_kib",
            "receive_service_demand_us_per_kib",
        ],
    ),
];

/// Makes the runs and prints a line for each difference; returns whether all are within their
/// bounds, or true without `--check`.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let rows = measured(arguments)?;
    println!(
        "What {WORK_US} us of work on each message add at each end, in us a message, with a 95 % interval. Within {BOUND_US} us of what is expected: yes, no, or perhaps where the interval reaches beyond"
    );
    let mut is_kept = true;
    for (method, metrics) in METHODS {
        println!("by {method}:");
        for transport in TRANSPORTS {
            for worker in ENDS {
                for (end, metric) in ENDS.into_iter().zip(metrics) {
                    let expected = if end == worker { WORK_US } else { 0.0 };
                    print!("  {transport}, work at the {worker}: {end} ");
                    is_kept &= judged(&pairs(&rows, transport, worker, metric), expected)?;
                }
            }
        }
    }
    Ok(is_kept || !arguments.check)
}

/// Prints the change from the cost without the work to that with it; returns whether it is within
/// the bounds. The interval is that of `bitcost compare` for two sides of one execution.
fn judged(pairs: &[(f64, f64)], expected_us: f64) -> Result<bool> {
    let (without, with): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let interval = paired_change(pairs, Scale::Difference)
        .or_else(|| change(&without, &with, Scale::Difference))
        .context("no block has this figure with and without the work")?
        .interval;
    let is_within = |us: f64| (us - expected_us).abs() <= BOUND_US;
    let bounds = [interval.low, interval.high];
    let word = if !is_within(interval.value) {
        "no"
    } else if bounds.iter().all(|us| us.is_some_and(is_within)) {
        "yes"
    } else {
        "perhaps"
    };
    println!(
        "{} of {expected_us:.1} in {} blocks: {word}",
        interval.with_places(2),
        pairs.len()
    );
    Ok(is_within(interval.value))
}

/// A metric in the runs of a block without and with the work of an end, of the blocks that have
/// both.
fn pairs(
    rows: &[Map<String, Value>],
    transport: &str,
    worker: &str,
    metric: &str,
) -> Vec<(f64, f64)> {
    let of = |work: &str| -> BTreeMap<(String, u64), f64> {
        let of_cell =
            |row: &&Map<String, Value>| row["transport"] == transport && row["work"] == work;
        let place = |row: &Map<String, Value>| {
            let execution = row["execution"].as_str()?.to_owned();
            Some((
                (execution, row["block"].as_u64()?),
                row.get(metric)?.as_f64()?,
            ))
        };
        rows.iter().filter(of_cell).filter_map(place).collect()
    };
    let (without, with) = (of("none"), of(worker));
    let both = |(place, us): (&(String, u64), &f64)| Some((*us, *with.get(place)?));
    without.iter().filter_map(both).collect()
}

/// The rows of the runs of an execution of the study.
fn measured(arguments: &Arguments) -> Result<Vec<Map<String, Value>>> {
    let folder = tempfile::tempdir()?;
    let study = folder.path().join("known-work.toml");
    fs::write(&study, STUDY)?;
    let mut command = Command::new(given_or_built(arguments.program.as_deref())?);
    command
        .arg("run")
        .arg(study)
        .arg("--out")
        .arg(folder.path());
    command.args(["--blocks", &arguments.blocks.to_string()]);
    command.args(["--seed", &arguments.seed.to_string()]);
    command.args(["--no-calibration", "--json", "--rows", "runs"]);
    command.stderr(Stdio::inherit());
    serde_json::from_str(&output(&mut command)?).context("what bitcost run printed")
}
