//! Situations that are drawn at random: what bitcost says of each, against what its rate follows when
//! one factor after the other is changed.

mod command;
mod draw;
mod factor;
mod kept;
mod outcome;
mod remedy;
mod truth;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;

use command::{answer, judged, short};
use draw::{Draw, Situation};
use kept::{Found, Kept, Series};
use outcome::Table;
use truth::{Truth, truth};

/// A series of situations.
#[derive(clap::Args)]
pub struct Random {
    /// Instead of the recordings, draw this many situations, and find what limits each by changing it
    #[arg(long, value_name = "N", conflicts_with_all = ["recordings", "check"])]
    random: Option<u32>,
    /// Seed of what is drawn
    #[arg(long, default_value_t = 1, requires = "random")]
    seed: u64,
    /// Folder of the situations: what it has is not made again, but judged again by this bitcost
    /// [default: target/confusion-SEED]
    #[arg(long, value_name = "FOLDER", requires = "random")]
    into: Option<PathBuf>,
    /// Judge what `--prove` says of the situations; has its own folder
    #[arg(long, requires = "random")]
    prove: bool,
}

impl Random {
    /// Whether situations are wanted.
    pub fn is_wanted(&self) -> bool {
        self.random.is_some()
    }

    fn folder(&self) -> PathBuf {
        let way = if self.prove { "-prove" } else { "" };
        let folder = || format!("target/confusion-{}{way}", self.seed).into();
        self.into.clone().unwrap_or_else(folder)
    }
}

/// Draws situations, judges what bitcost says of each, and prints a table by confidence.
pub fn run(bitcost: &Path, arguments: &Random) -> Result<()> {
    let begin = || {
        let able_mbps = short(bitcost, &Situation::plain())?.rate;
        Ok(Series {
            seed: arguments.seed,
            able_mbps,
        })
    };
    let kept = Kept::open(&arguments.folder(), arguments.seed, begin)?;
    let able_mbps = kept.series.able_mbps;
    println!(
        "this machine: TCP over the wire {able_mbps:.0} Mbit/s; seed {}",
        arguments.seed
    );
    let mut draw = Draw::new(arguments.seed, able_mbps * 1e6);
    let mut table = Table::default();
    for number in 1..=arguments.random.unwrap_or(0) {
        let situation = draw.next();
        let log = kept.log(number);
        let found = match kept.found.iter().find(|found| found.number == number) {
            Some(found) => found.clone(),
            None => kept.add(found(bitcost, &situation, &log, number, arguments.prove))?,
        };
        let answer = answer(bitcost, &situation, &log).ok();
        println!("{}", table.add(&situation, &found, answer.as_ref()));
    }
    println!("{table}");
    Ok(())
}

/// Makes the test that is judged, and finds the truth.
fn found(bitcost: &Path, situation: &Situation, log: &Path, number: u32, prove: bool) -> Found {
    let began = Instant::now();
    let made = || -> Result<Truth> {
        // That of a call that was killed.
        let _ = std::fs::remove_dir_all(log);
        judged(bitcost, situation, log, prove)?;
        let answer = answer(bitcost, situation, log)?;
        truth(bitcost, situation, &answer)
    };
    let (truth, why) = match made() {
        Ok(truth) => (Some(truth), String::new()),
        Err(error) => (None, format!("{error:#}")),
    };
    Found {
        number,
        situation: situation.text(),
        truth,
        why,
        seconds: began.elapsed().as_secs_f64(),
    }
}
