//! `cargo xtask bench-peers`: every generator on one path, one after the other in an order that
//! rotates from round to round, as ratios.

mod figure;
mod measure;
mod results;
mod table;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::programs::{given_or_built, output, require, root, run as carry_out};
use measure::{CONGESTION_CONTROL, Field};
use results::{Compared, Entry, verdicts};
use table::{Case, Contender, Table};

/// What to compare and how long.
#[derive(clap::Args)]
pub struct Arguments {
    /// Fewer sizes and fewer, shorter runs: under 4 minutes
    #[arg(long)]
    quick: bool,
    /// Cases whose name begins with this only, such as tcp or udp/64
    #[arg(long, default_value = "", hide_default_value = true)]
    only: String,
    /// These only, by their names in the table, such as "bitcost, auto"; may be given again
    #[arg(long, value_name = "NAME")]
    with: Vec<String>,
    /// The bitcost to compare; else it is built as users build it
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Write everything to this file too, as Markdown
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Exit 1 when a target is missed
    #[arg(long)]
    check: bool,
}

struct Bench<'a> {
    contenders: Vec<&'a Contender>,
    bitcost: PathBuf,
    c_loop: PathBuf,
    /// Rounds and seconds of a run; and of a paced one, since a rate is steadier than a maximum.
    lengths: [(u32, f64); 2],
    text: String,
}

/// Runs the comparison; false when `--check` found a missed target.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let (quick, table) = (arguments.quick, Table::read()?);
    let is_wanted =
        |of: &&Contender| arguments.with.is_empty() || arguments.with.contains(&of.name);
    let contenders: Vec<&Contender> = table.contenders.iter().filter(is_wanted).collect();
    let rivals = contenders.iter().filter(|one| one.options.is_none());
    let programs = rivals.filter_map(|one| one.version.split(' ').next());
    let programs: Vec<&str> = programs.chain(["taskset", "ss", "jq"]).collect();
    require(
        &programs.join(" "),
        "netperf (of non-free) iperf3 nuttcp iperf util-linux iproute2 jq",
    )?;
    let mut bench = Bench {
        contenders,
        bitcost: given_or_built(arguments.program.as_deref())?,
        c_loop: c_loop()?,
        lengths: if quick {
            [(3, 0.5), (1, 2.0)]
        } else {
            [(7, 1.0), (3, 5.0)]
        },
        text: String::new(),
    };
    bench.print(&bench.head());
    let mut all = Vec::new();
    for case in table.cases(quick, &arguments.only) {
        let compared = bench.compare(case)?;
        bench.print(&compared.table());
        all.push(compared);
    }
    ensure!(!all.is_empty(), "no case begins with {:?}", arguments.only);
    let (text, is_missed) = verdicts(&table.targets, &all);
    bench.print(&text);
    if let Some(file) = &arguments.write {
        std::fs::write(file, &bench.text).with_context(|| format!("write {}", file.display()))?;
    }
    Ok(!(arguments.check && is_missed))
}

fn c_loop() -> Result<PathBuf> {
    let source = root().join("bench/peers/loop.c");
    let program = std::env::current_exe()?.with_file_name("bench-peers-loop");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-o"]);
    carry_out(compiler.arg(&program).arg(&source)).context("Debian: apt-get install gcc")?;
    Ok(program)
}

/// The first line of the version that a program prints.
fn version(of: &Contender) -> String {
    let line = format!("{} 2>&1; true", of.version);
    let said = output(Command::new("sh").args(["-c", &line])).unwrap_or_default();
    said.lines().next().unwrap_or_default().trim().to_owned()
}

impl Bench<'_> {
    fn print(&mut self, text: &str) {
        print!("{text}");
        self.text += text;
    }

    /// What is compared, where, when, and how.
    fn head(&self) -> String {
        let host = bitcost_probe::host::describe();
        let kernel = host.kernel.split_whitespace().next().unwrap_or_default();
        let [(rounds, seconds), (_, paced)] = self.lengths;
        let mut lines = vec![
            format!(
                "Linux {kernel}, {}, {} CPUs",
                host.cpu_model.unwrap_or_default(),
                host.cpus.len()
            ),
            format!("bare veth pair, {CONGESTION_CONTROL} for all"),
            format!(
                "runs of {seconds} s, interleaved in {rounds} rounds (peers that count whole seconds: {} s; paced: {paced} s)",
                seconds.ceil()
            ),
        ];
        lines.extend(self.contenders.iter().map(|one| match one.options {
            Some(_) => format!("{}: {}", one.name, one.about),
            None => format!("{}: {}", one.name, version(one)),
        }));
        format!(
            "# bitcost and its peers\n\nWritten by `cargo xtask bench-peers` on {}.\n\n- {}\n\nColumns: docs/method/benchmarks.md. A ratio is \
             \"bitcost\" ÷ theirs, of our other rows that to \"bitcost\", of medians of the runs of one regime, with its 95 % bootstrap \
             interval over rounds.\n\n## Figures\n",
            jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC"),
            lines.join("\n- ")
        )
    }

    /// Measures every contender of a case in every round.
    fn compare(&mut self, case: Case) -> Result<Compared> {
        let field = Field::build(case.mtu_bytes, &self.c_loop, &self.bitcost)?;
        let (rounds, seconds) = self.lengths[usize::from(case.rate_bps.is_some())];
        let contenders = self.contenders.iter().filter(|one| one.fits(&case));
        let contenders: Vec<&Contender> = contenders.copied().collect();
        let entry = |one: &&Contender| Entry {
            name: one.name.clone(),
            is_ours: one.options.is_some(),
            runs: Vec::new(),
        };
        let mut entries: Vec<Entry> = contenders.iter().map(entry).collect();
        for round in 0..rounds {
            for turn in 0..entries.len() {
                let index = (turn + round as usize) % entries.len();
                let figure = measure::measure(contenders[index], &case, &field, seconds);
                match figure {
                    Ok(figure) => entries[index].runs.push((round, figure)),
                    Err(error) => eprintln!("{}, {}: {error:#}", case.name, entries[index].name),
                }
            }
        }
        Ok(Compared { case, entries })
    }
}
