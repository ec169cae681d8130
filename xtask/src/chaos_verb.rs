//! `cargo xtask chaos`: kills at every step, in separate network namespaces.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How many deaths.
#[derive(clap::Args)]
pub struct Arguments {
    /// How many deaths: most at named steps, the others at random times
    #[arg(long, default_value_t = 200)]
    kills: usize,
    /// Of the choice of victims and times; printed with each death
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The bitcost to kill; else it is built as users build it
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Play whole runs on hosts with unusual settings instead, and kill nobody
    #[arg(long)]
    whole: bool,
    /// Print a line for each death
    #[arg(long, short)]
    verbose: bool,
}

/// The time within which everything must be as before.
const LIMIT: Duration = Duration::from_secs(6);

/// Kills processes and prints the results; returns whether everything was as it should be.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let program = match &arguments.program {
        Some(program) => program
            .canonicalize()
            .with_context(|| program.display().to_string())?,
        None => build()?,
    };
    // From here on nothing of the machine can be reached.
    bitcost_testkit::enter_private_network().map_err(anyhow::Error::msg)?;
    if arguments.whole {
        let wrong =
            bitcost_testkit::chaos::whole_runs(&program, LIMIT, &mut |line| println!("{line}"))
                .map_err(anyhow::Error::msg)?;
        let count = bitcost_testkit::chaos::whole_run_count();
        println!(
            "{} of {count} whole runs as they should be",
            count - wrong.len()
        );
        return Ok(wrong.is_empty());
    }
    let began = Instant::now();
    let plan = bitcost_testkit::chaos::Plan {
        kills: arguments.kills,
        seed: arguments.seed,
        limit: LIMIT,
        stops: true,
    };
    let mut count = 0;
    let mut say = |line: &str| {
        count += 1;
        if arguments.verbose || line.contains("WRONG") {
            println!("{count:>4} {line}");
        } else if count % 20 == 0 {
            eprintln!(
                "{count} deaths after {:.0} s",
                began.elapsed().as_secs_f64()
            );
        }
    };
    let tally =
        bitcost_testkit::chaos::run(&program, plan, &mut say).map_err(anyhow::Error::msg)?;
    print!("{tally}");
    println!(
        "seed {}, {:.0} s",
        arguments.seed,
        began.elapsed().as_secs_f64()
    );
    Ok(tally.wrong().is_empty())
}

/// The program, built as users build it, in the folder of this one.
fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", "bitcost"])
        .status();
    if !built.context("start cargo")?.success() {
        bail!("bitcost cannot be built");
    }
    let program = std::env::current_exe()?.with_file_name("bitcost");
    if program.exists() {
        Ok(program)
    } else {
        bail!(
            "{} was not built: run this as cargo xtask chaos",
            program.display()
        )
    }
}
