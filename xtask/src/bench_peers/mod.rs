//! `cargo xtask bench-peers`: every generator on one path, one after the other in an order that
//! rotates from round to round, as ratios.

mod cases;
mod field;
mod figure;
mod load;
mod ours;
mod peers;
mod results;
mod targets;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

pub use field::offloads_off;

use crate::programs::{given_or_built, require, root, run as carry_out};
use cases::{Case, Extent};
use field::{CONGESTION_CONTROL, Field, Setup};
use figure::Figure;
use ours::{FLAVOURS, Flavour};
use peers::Rival;
use results::{Compared, Entry, shown};
use targets::{Finding, Verdict};

const PEERS: &str = "netperf iperf3 nuttcp iperf taskset";

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
    /// Write everything to this file too, as Markdown
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Exit 1 when a target is missed
    #[arg(long)]
    check: bool,
}

/// The state of a comparison.
struct Bench<'a> {
    arguments: &'a Arguments,
    bitcost: PathBuf,
    rivals: Vec<Rival>,
    rounds: u32,
    seconds: f64,
    runs: u32,
    /// The runs that something else disturbed.
    disturbed: Vec<String>,
    /// All that was printed.
    text: String,
}

/// Runs the comparison; false when `--check` found a missed target.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let quick = arguments.quick;
    let is_ours = |name: &String| FLAVOURS.iter().any(|flavour| flavour.name == *name);
    let rivals = if arguments.with.is_empty() || !arguments.with.iter().all(is_ours) {
        require(
            PEERS,
            "netperf (of non-free) iperf3 nuttcp iperf util-linux",
        )?;
        peers::all(&c_loop()?)
    } else {
        Vec::new()
    };
    let mut bench = Bench {
        arguments,
        bitcost: given_or_built(None)?,
        rivals,
        rounds: arguments.rounds.unwrap_or(if quick { 3 } else { 7 }),
        seconds: arguments.seconds.unwrap_or(if quick { 0.5 } else { 1.0 }),
        runs: 0,
        disturbed: Vec::new(),
        text: String::new(),
    };
    bench.print(&bench.head());
    let mut all = Vec::new();
    for (setup, extent) in setups(quick) {
        bench.print(&format!("\n## Figures: {}\n", setup.label()));
        for case in cases::all(extent, arguments.only.as_deref()) {
            let compared = bench.compare(case, setup)?;
            bench.print(&compared.table());
            all.push(compared);
        }
    }
    if all.is_empty() {
        bail!("no case begins with {:?}", arguments.only);
    }
    let findings = targets::judge(&all);
    bench.print(&verdicts(&findings));
    let (count, runs) = (bench.disturbed.len(), bench.runs);
    bench.print(&format!(
        "\n## Disturbances\n\nBy other programs or the hypervisor: {count} of {runs} runs\n\n{}\n",
        bench.disturbed.join("\n")
    ));
    if let Some(file) = &arguments.write {
        std::fs::write(file, &bench.text).with_context(|| format!("write {}", file.display()))?;
    }
    let is_missed = |finding: &Finding| finding.verdict == Verdict::Missed;
    Ok(!(arguments.check && findings.iter().any(is_missed)))
}

/// The setups, each with the extent of its cases.
fn setups(quick: bool) -> Vec<(Setup, Extent)> {
    let setup = |one_cpu, offloads_off| Setup {
        one_cpu,
        offloads_off,
    };
    if quick {
        return vec![(setup(false, false), Extent::Quick)];
    }
    vec![
        (setup(false, false), Extent::All),
        (setup(true, false), Extent::Few),
        (setup(false, true), Extent::Few),
    ]
}

/// The C loop, compiled.
fn c_loop() -> Result<PathBuf> {
    let source = root().join("bench/peers/loop.c");
    let program = std::env::current_exe()?.with_file_name("bench-peers-loop");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-o"]);
    carry_out(compiler.arg(&program).arg(&source)).context("Debian: apt-get install gcc")?;
    Ok(program)
}

/// The targets by verdict.
fn verdicts(findings: &[Finding]) -> String {
    let mut text = "\n## Targets\n\nMissed: the value is off, and so is its whole interval. Cannot tell: the value is off, its interval \
        reaches the bound.\n\n| target | case | wanted | found | verdict |\n|---|---|---|---|---|\n"
        .to_owned();
    for of in findings {
        let (wanted, found) = (of.target.wanted.label(), shown(of.found));
        let (title, case, verdict) = (of.target.title, &of.case, of.verdict.label());
        text += &format!("| {title} | {case} | {wanted} | {found} | {verdict} |\n");
    }
    let count = |verdict| findings.iter().filter(|of| of.verdict == verdict).count();
    let counts = [Verdict::Met, Verdict::Missed, Verdict::CannotTell];
    let counts = counts.map(|verdict| format!("{} {}", count(verdict), verdict.label()));
    format!("{text}\n{}\n", counts.join(", "))
}

/// One contender.
#[derive(Clone, Copy)]
enum Contender {
    Ours(&'static Flavour),
    /// The place among the rivals.
    Rival(usize),
}

impl Bench<'_> {
    fn print(&mut self, text: &str) {
        print!("{text}");
        self.text += text;
    }

    /// What is compared, where, when, and how.
    fn head(&self) -> String {
        let host = bitcost_probe::host::describe();
        let command: Vec<String> = std::env::args().skip(1).map(without_folders).collect();
        let seconds = self.seconds;
        let mut lines = vec![
            format!(
                "Linux {}, {}, {} CPUs",
                host.kernel.split_whitespace().next().unwrap_or_default(),
                host.cpu_model.unwrap_or_default(),
                host.cpus.len()
            ),
            format!("bare veth pair, {CONGESTION_CONTROL} for all"),
            format!(
                "runs of {seconds} s, interleaved in rounds (peers that count whole seconds: {} s; paced runs are longer)",
                seconds.ceil()
            ),
        ];
        let ours = FLAVOURS.iter();
        lines.extend(ours.map(|flavour| format!("{}: {}", flavour.name, flavour.about)));
        let rivals = self.rivals.iter();
        lines.extend(rivals.map(|rival| format!("{}: {}", rival.name, rival.version())));
        format!(
            "# bitcost and its peers\n\nWritten by `cargo xtask {}` on {}.\n\n- {}\n\nColumns: docs/method/benchmarks.md. A ratio is \
             \"bitcost\" ÷ theirs, of our other rows that to \"bitcost\", of medians of the runs of one regime, with its 95 % bootstrap \
             interval over rounds.\n",
            command.join(" "),
            jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC"),
            lines.join("\n- ")
        )
    }

    /// The contenders of a case, ours first.
    fn contenders(&self, case: &Case, setup: Setup) -> Vec<(&'static str, Contender)> {
        let ours = FLAVOURS
            .iter()
            .filter(|flavour| (flavour.fits)(case, setup));
        let rivals = self.rivals.iter().enumerate();
        let rivals = rivals.filter(|(_, rival)| rival.can(case));
        let mut all: Vec<_> = ours
            .map(|flavour| (flavour.name, Contender::Ours(flavour)))
            .chain(rivals.map(|(place, rival)| (rival.name, Contender::Rival(place))))
            .collect();
        let with = &self.arguments.with;
        all.retain(|(name, _)| with.is_empty() || with.iter().any(|wanted| wanted == name));
        all
    }

    /// Measures every contender of a case in every round.
    fn compare(&mut self, case: Case, setup: Setup) -> Result<Compared> {
        let field = Field::build(case.mtu_bytes, setup)?;
        let paced = if self.arguments.quick {
            PACED_QUICK
        } else {
            PACED
        };
        let (seconds, rounds) = match case.rate_bps {
            Some(_) => (paced.0, self.rounds.min(paced.1)),
            None => (self.seconds, self.rounds),
        };
        let contenders = self.contenders(&case, setup);
        let entry = |(name, _)| Entry {
            name,
            runs: Vec::new(),
        };
        let mut entries: Vec<Entry> = contenders.iter().copied().map(entry).collect();
        for round in 0..rounds {
            for turn in 0..entries.len() {
                let index = (turn + round as usize) % entries.len();
                let entry = &mut entries[index];
                let run = format!("{}, {}, round {}", case.name(), entry.name, round + 1);
                self.runs += 1;
                let before = load::disturbance();
                let figure = self.measure(contenders[index].1, &case, &field, seconds);
                let stolen = figure.as_ref().ok();
                let stolen = stolen.and_then(|figure| load::theft(figure.stolen));
                let what = before.into_iter().chain(stolen);
                self.disturbed
                    .extend(what.map(|what| format!("- {run}: {what}")));
                match figure {
                    Ok(figure) => entry.runs.push((round, figure)),
                    Err(error) => eprintln!("{run}: {error:#}"),
                }
            }
        }
        Ok(Compared {
            setup,
            case,
            entries,
        })
    }

    fn measure(
        &self,
        contender: Contender,
        case: &Case,
        field: &Field,
        seconds: f64,
    ) -> Result<Figure> {
        match contender {
            Contender::Ours(flavour) => ours::measure(case, field, &self.bitcost, seconds, flavour),
            Contender::Rival(place) => peers::measure(&self.rivals[place], case, field, seconds),
        }
    }
}

/// A word of the command; of an absolute path, which says something of one machine alone, its last part.
fn without_folders(word: String) -> String {
    let path = Path::new(&word);
    match path.file_name().filter(|_| path.is_absolute()) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => word,
    }
}
