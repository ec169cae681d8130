//! `cargo xtask damage`: damaged logs, and whether bitcost shows other figures of them without a
//! message.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use bitcost_testkit::damage::{Bench, COMMANDS, Tally};
use tempfile::TempDir;

use crate::bench_peers::given_or_built;

/// How many logs, and of what.
#[derive(clap::Args)]
pub struct Arguments {
    /// How many damaged logs; each kind of damage comes in turn
    #[arg(long, default_value_t = 3000)]
    logs: usize,
    /// Of the choice of places; the same seed damages the same log alike
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The execution's folder whose log is damaged; else a short one is made in the embedded lab
    #[arg(long, value_name = "FOLDER")]
    log: Option<PathBuf>,
    /// The bitcost that reads them; else it is built as users build it
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Number of logs that are read at the same time.
const THREADS: usize = 2;

/// Two cells in two blocks: enough for medians that one run can move.
const STUDY: &str = r#"title = "Damage"
question = "Is it said?"
[workload]
warmup_s = 0.1
duration_s = 0.3
rate_bps = 200000000
message_size_bytes = 8192
[[factor]]
name = "transport"
levels = [{ label = "TCP", workload = "tcp_stream" }, { label = "UDP", workload = "udp_stream" }]
[run]
blocks = 2
"#;

/// Damages logs and prints the results of each kind; returns whether nothing went wrong.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let program = given_or_built(arguments.program.as_deref())?;
    let place = tempfile::tempdir()?;
    let folder = match &arguments.log {
        Some(folder) => folder.clone(),
        None => record(&program, &place)?,
    };
    let bench = Bench::new(&program, &folder, arguments.seed).map_err(anyhow::Error::msg)?;
    let (began, next) = (Instant::now(), AtomicUsize::new(0));
    let part = || -> Result<Tally, String> {
        let mut tally = Tally::default();
        loop {
            match next.fetch_add(1, Relaxed) {
                number if number < arguments.logs => {
                    bench.damage(number, COMMANDS.len(), &mut tally)?
                }
                _ => return Ok(tally),
            }
        }
    };
    let parts: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(part)).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err("a thread panicked".into()))
            })
            .collect()
    });
    let mut all = Tally::default();
    for part in parts {
        let Tally {
            kinds,
            wrong,
            commands,
        } = part.map_err(anyhow::Error::msg)?;
        all.commands += commands;
        all.wrong.extend(wrong);
        for (kind, counts) in kinds {
            let sums = all.kinds.entry(kind).or_default();
            sums.iter_mut()
                .zip(counts)
                .for_each(|(sum, count)| *sum += count);
        }
    }
    print(&all);
    println!(
        "seed {}, {:.0} s",
        arguments.seed,
        began.elapsed().as_secs_f64()
    );
    Ok(all.wrong.is_empty())
}

/// Makes a short execution in the embedded lab; returns its folder.
fn record(program: &Path, place: &TempDir) -> Result<PathBuf> {
    let study = place.path().join("damage.toml");
    std::fs::write(&study, STUDY)?;
    let out = place.path().join("runs");
    let mut command = Command::new(program);
    command
        .arg("run")
        .arg(&study)
        .arg("--out")
        .arg(&out)
        .args(["--no-calibration", "--seed", "1"]);
    let output = command.output().context("start bitcost")?;
    if !output.status.success() {
        bail!(
            "no log was recorded: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let folder = std::fs::read_dir(&out)?.next().context("no execution")??;
    Ok(folder.path())
}

fn print(tally: &Tally) {
    println!(
        "{:<28} {:>6} {:>8} {:>10} {:>12}",
        "damage", "logs", "refused", "shown, said", "same medians"
    );
    for (kind, [logs, refused, said, same]) in &tally.kinds {
        println!("{kind:<28} {logs:>6} {refused:>8} {said:>10} {same:>12}");
    }
    let mut wrong = tally.wrong.clone();
    wrong.sort();
    for (number, kind, what, command) in &wrong {
        println!("WRONG: log {number} ({kind}), bitcost {command}: {what:?}");
    }
    println!("{} commands, {} wrong", tally.commands, wrong.len());
}
