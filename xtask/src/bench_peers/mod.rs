//! `cargo xtask bench-peers`: every generator on one path, one after the other in an order that
//! rotates from round to round, as ratios.

mod cases;
mod contenders;
mod field;
mod figure;
mod flavours;
mod install;
mod load;
mod offloads;
mod ours;
mod peers;
mod programs;
mod regime;
mod results;
mod table;
mod targets;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

pub use install::require;
pub use offloads::offloads_off;
pub use programs::{built, given_or_built};

use cases::{Case, Extent};
use field::{Field, Setup};
use load::Disturbed;
use peers::Rival;
use programs::c_loop;
use results::{Compared, Entry};
use targets::Verdict;

/// Length of a paced run, in seconds, and most rounds of it: a rate is steadier than a maximum.
const PACED: (f64, u32) = (5.0, 3);

/// The same for a quick comparison.
const PACED_QUICK: (f64, u32) = (2.0, 1);

/// What to compare and how long.
#[derive(clap::Args)]
pub struct Arguments {
    /// Fewer sizes and shorter rounds, two CPUs with offloads on only: under 4 minutes
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
    /// These only, by their names in the table, such as "bitcost, auto"; may be given again
    #[arg(long, value_name = "NAME")]
    with: Vec<String>,
    /// Every case with both ends on one CPU, and nothing else
    #[arg(long)]
    one_cpu: bool,
    /// Every case with offloads as said, and nothing else
    #[arg(long, value_parser = ["on", "off"])]
    offloads: Option<String>,
    /// Install missing peers even if that means to enable Debian's component non-free (as root)
    #[arg(long)]
    install: bool,
    /// Write everything to this file too, as Markdown
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Keep the runs in this file, and judge them with those that it has of other cases
    #[arg(long, value_name = "FILE")]
    join: Option<PathBuf>,
    /// Exit 1 when a target is missed
    #[arg(long)]
    check: bool,
}

/// The state of a comparison.
struct Bench {
    bitcost: PathBuf,
    rivals: Vec<Rival>,
    /// The names of the contenders that take part; empty: all do.
    with: Vec<String>,
    rounds: u32,
    seconds: f64,
    paced: (f64, u32),
    runs: u32,
    disturbed: Vec<Disturbed>,
}

/// Runs the comparison; false when `--check` found a missed target.
///
/// # Errors
/// When a peer is not available, the lab cannot be built, or the file cannot be written.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let quick = arguments.quick;
    let is_ours = |name: &String| {
        flavours::FLAVOURS
            .iter()
            .any(|flavour| flavour.name == *name)
    };
    let rivals = if arguments.with.is_empty() || !arguments.with.iter().all(is_ours) {
        install::install(arguments.install || std::env::var_os("CI").is_some())?;
        peers::all(&c_loop()?)
    } else {
        Vec::new()
    };
    let mut bench = Bench {
        bitcost: built("bitcost")?,
        rivals,
        with: arguments.with.clone(),
        rounds: arguments.rounds.unwrap_or(if quick { 3 } else { 7 }),
        seconds: arguments.seconds.unwrap_or(if quick { 0.5 } else { 1.0 }),
        paced: if quick { PACED_QUICK } else { PACED },
        runs: 0,
        disturbed: Vec::new(),
    };
    let setups = setups(arguments);
    let head = table::head(&table::Head {
        rivals: &bench.rivals,
        seconds: bench.seconds,
    });
    println!("{}", head.join("\n"));
    let mut all = Vec::new();
    for (setup, extent) in &setups {
        println!("\n== {} ==", setup.says());
        for case in cases::all(*extent, arguments.only.as_deref()) {
            let compared = bench.compare(case, *setup)?;
            println!("{}", table::plain(&compared));
            all.push(compared);
        }
    }
    if let Some(file) = &arguments.join {
        all = results::joined(file, all)?;
    }
    if all.is_empty() {
        bail!(
            "no case begins with {:?}",
            arguments.only.as_deref().unwrap_or_default()
        );
    }
    let findings = targets::judge(&all);
    let disturbances = table::disturbances(&bench.disturbed, bench.runs);
    println!(
        "\n{}\n\n{}",
        table::targets(&findings).join("\n"),
        disturbances.join("\n")
    );
    if let Some(file) = &arguments.write {
        let text = table::markdown(&head, &all, &findings, &disturbances);
        std::fs::write(file, text).with_context(|| format!("write {}", file.display()))?;
    }
    let missed = findings
        .iter()
        .any(|finding| finding.verdict == Verdict::Missed);
    Ok(!(missed && arguments.check))
}

/// The setups, each with the extent of its cases.
fn setups(arguments: &Arguments) -> Vec<(Setup, Extent)> {
    let extent = if arguments.quick {
        Extent::Quick
    } else {
        Extent::All
    };
    if arguments.one_cpu || arguments.offloads.is_some() || arguments.quick {
        let offloads_off = arguments.offloads.as_deref() == Some("off");
        return vec![(
            Setup {
                one_cpu: arguments.one_cpu,
                offloads_off,
            },
            extent,
        )];
    }
    let usual = Setup::default();
    vec![
        (usual, extent),
        (
            Setup {
                one_cpu: true,
                ..usual
            },
            Extent::Few,
        ),
        (
            Setup {
                offloads_off: true,
                ..usual
            },
            Extent::Few,
        ),
    ]
}

impl Bench {
    /// Measures every contender of a case in every round.
    fn compare(&mut self, case: Case, setup: Setup) -> Result<Compared> {
        let field = Field::build(case.mtu_bytes, setup)?;
        let (seconds, rounds) = match case.rate_bps {
            Some(_) => (self.paced.0, self.rounds.min(self.paced.1)),
            None => (self.seconds, self.rounds),
        };
        let contenders = contenders::of(&case, setup, &self.rivals, &self.with);
        let entry = |contender: &contenders::Contender| Entry {
            name: contender.name().to_owned(),
            runs: Vec::new(),
        };
        let mut entries: Vec<Entry> = contenders.iter().map(entry).collect();
        for round in 0..rounds {
            for turn in 0..entries.len() {
                let index = (turn + round as usize) % entries.len();
                let before = load::disturbance();
                let figure = contenders[index].measure(&case, &field, &self.bitcost, seconds);
                let run = format!("{}, {}", case.name(), entries[index].name);
                self.runs += 1;
                let stolen = figure
                    .as_ref()
                    .ok()
                    .and_then(|figure| load::theft(figure.stolen));
                let what = before.into_iter().chain(stolen);
                self.disturbed.extend(what.map(|what| Disturbed {
                    run: run.clone(),
                    round,
                    what,
                }));
                match figure {
                    Ok(figure) => entries[index].runs.push((round, figure)),
                    Err(error) => eprintln!("{run}, round {}: {error:#}", round + 1),
                }
            }
        }
        Ok(Compared {
            setup,
            case,
            entries,
        })
    }
}
