//! A real Slurm of some nodes in network namespaces: bitcost measures all pairs of its nodes with two planted faults,
//! and without any.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::bench_peers::{given_or_built, require};

const BED: &str = include_str!("bed.sh");

/// What the bed is made of, all in Debian.
const PROGRAMS: [&str; 8] = [
    "munged",
    "slurmctld",
    "slurmd",
    "srun",
    "salloc",
    "scontrol",
    "tc",
    "nsenter",
];

/// The rate of each node's link, and that of the node whose link is slow.
const RATES: [&str; 2] = ["150mbit", "15mbit"];

/// What is planted: a word of `bed.sh` with its value, at a node, and how the limiter's name begins.
const FAULTS: [(&str, &str, u32, &str); 2] = [
    ("rate", RATES[1], 3, "link or shaper rate"),
    ("quota", "2000", 11, "CPU quota"),
];

/// All pairs, those of a round at once: half of both CPUs of a machine with two.
const STUDY: &str = r#"title = "All pairs"
question = "Which node is slow?"
[mesh]
pattern = "all-pairs"
concurrent = true
[workload]
duration_s = 1
warmup_s = 0.3
"#;

#[derive(clap::Args)]
pub struct Arguments {
    /// Number of nodes
    #[arg(long, default_value_t = 16)]
    nodes: u32,
    /// Measure all pairs without any fault, and with a slow link and a quota of CPU time planted; fail unless none is
    /// named, and then exactly the two nodes with their limiters
    #[arg(long)]
    check: bool,
    /// The first seed of the order of pairs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Meshes without faults, and with them, each with another seed
    #[arg(long, default_value_t = 1, value_name = "COUNT")]
    seeds: u64,
    /// The bitcost to check [default: it is built]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// A command that is run in an allocation of all nodes, with SLURM_CONF set
    #[arg(last = true)]
    words: Vec<String>,
}

/// The bed, which is removed when this is dropped.
struct Bed<'a>(&'a Path);

impl Bed<'_> {
    fn script(&self, words: &[&str]) -> Result<()> {
        let folder = self.0.to_string_lossy();
        let (verb, rest) = words.split_first().context("a verb")?;
        let mut command = Command::new("bash");
        command
            .args(["-c", BED, "bed.sh", verb, &folder])
            .args(rest);
        ensure!(command.status()?.success(), "bed.sh {}", words.join(" "));
        Ok(())
    }

    /// A command in an allocation of all nodes.
    fn allocated(&self, nodes: u32, words: &[String]) -> Command {
        let mut command = Command::new("salloc");
        command.arg("-Q").arg(format!("-N{nodes}")).args(words);
        command.env("SLURM_CONF", self.0.join("slurm.conf"));
        command
    }

    /// The hosts and pairs that bitcost names, each with what limits it.
    fn named(&self, program: &Path, nodes: u32, seed: u64) -> Result<Vec<[String; 2]>> {
        let path = |name: &str| self.0.join(name).display().to_string();
        let (study, out) = (path("mesh.toml"), path("runs"));
        std::fs::write(&study, STUDY)?;
        let words = ["run", &study, "--slurm", "--json", "--out", &out, "--seed"];
        let words = std::iter::once(program.display().to_string())
            .chain(words.map(str::to_owned))
            .chain([seed.to_string()]);
        let output = self.allocated(nodes, &words.collect::<Vec<_>>()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "bitcost failed: {said}");
        let document: Value = serde_json::from_slice(&output.stdout).context("a document")?;
        let outliers = document["mesh"]["outliers"].as_array();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = |outlier: &Value| {
            let ends = [text(&outlier["sender"]), text(&outlier["receiver"])];
            match outlier["kind"].as_str() {
                Some("pair") => ends.join(" > "),
                Some("receiver") => ends[1].clone(),
                _ => ends[0].clone(),
            }
        };
        let found = outliers.into_iter().flatten().map(|outlier| {
            println!("  {} {outlier}", name(outlier));
            [name(outlier), text(&outlier["limiter"])]
        });
        Ok(found.collect())
    }

    /// Whether each of several meshes names what is expected; `has_faults` of them, which are planted.
    fn check(&self, arguments: &Arguments, program: &Path, has_faults: bool) -> Result<bool> {
        let faults = if has_faults { &FAULTS[..] } else { &[] };
        let mut right = 0;
        for seed in arguments.seed..arguments.seed + arguments.seeds {
            println!("seed {seed}, {} faults planted:", faults.len());
            let named = self.named(program, arguments.nodes, seed)?;
            let has = |(_, _, node, limiter): &(&str, &str, u32, &str)| {
                let is = |[name, limited]: &[String; 2]| {
                    *name == format!("n{node}") && limited.starts_with(limiter)
                };
                named.iter().any(is)
            };
            right += u64::from(named.len() == faults.len() && faults.iter().all(has));
        }
        println!(
            "{} faults planted: named exactly, with the right limiters, in {right} of {} meshes",
            faults.len(),
            arguments.seeds
        );
        Ok(right == arguments.seeds)
    }
}

impl Drop for Bed<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.script(&["down"]) {
            eprintln!("{error:#}");
        }
    }
}

/// Starts the bed, and checks or runs a command there; returns whether that was successful.
pub fn run(arguments: &Arguments) -> Result<bool> {
    require(&PROGRAMS, "slurmctld slurmd slurm-client munge iproute2")?;
    ensure!(
        arguments.nodes >= FAULTS[1].2 || !arguments.check,
        "--check needs {} nodes",
        FAULTS[1].2
    );
    let folder = tempfile::tempdir()?;
    let bed = Bed(folder.path());
    bed.script(&["up", &arguments.nodes.to_string(), RATES[0]])?;
    if !arguments.check {
        let words = match &arguments.words[..] {
            [] => vec!["bash".to_owned()],
            words => words.to_vec(),
        };
        return Ok(bed.allocated(arguments.nodes, &words).status()?.success());
    }
    let program = given_or_built(arguments.program.as_deref())?;
    let names_none = bed.check(arguments, &program, false)?;
    for (kind, value, node, _) in FAULTS {
        bed.script(&["fault", kind, &node.to_string(), value])?;
    }
    Ok(bed.check(arguments, &program, true)? && names_none)
}
