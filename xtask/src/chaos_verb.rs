//! `cargo xtask chaos`: kills at every step, in separate network namespaces.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use bitcost_testkit::chaos;

use crate::programs::given_or_built;

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
}

/// The time within which everything must be as before.
const LIMIT: Duration = Duration::from_secs(6);

/// Kills processes and prints the results; returns whether everything was as it should be.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let program = given_or_built(arguments.program.as_deref())?;
    // From here on nothing of the machine can be reached.
    bitcost_testkit::enter_private_network().map_err(Error::msg)?;
    if arguments.whole {
        let wrong = chaos::whole_runs(&program, LIMIT, &mut |line| println!("{line}"));
        let (wrong, count) = (wrong.map_err(Error::msg)?.len(), chaos::whole_run_count());
        println!("{} of {count} whole runs as they should be", count - wrong);
        return Ok(wrong == 0);
    }
    let began = Instant::now();
    let plan = chaos::Plan {
        kills: arguments.kills,
        seed: arguments.seed,
        limit: LIMIT,
        stops: true,
    };
    let mut count = 0;
    let mut say = |line: &str| {
        count += 1;
        if line.contains("WRONG") {
            println!("{count:>4} {line}");
        } else if count % 20 == 0 {
            eprintln!(
                "{count} deaths after {:.0} s",
                began.elapsed().as_secs_f64()
            );
        }
    };
    let tally = chaos::run(&program, plan, &mut say).map_err(Error::msg)?;
    let (seed, seconds) = (arguments.seed, began.elapsed().as_secs_f64());
    println!("{tally}seed {seed}, {seconds:.0} s");
    Ok(tally.wrong().is_empty())
}
