//! A real Slurm of some nodes in network namespaces: bitcost measures all pairs of its nodes with two planted faults,
//! and without any.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Bed, word, words_or_shell};
use crate::programs::{given_or_built, require};

const SCRIPT: &str = include_str!("slurm.sh");

/// What the bed is made of, all in Debian.
const PROGRAMS: &str = "munged slurmctld slurmd srun salloc scontrol tc nsenter";

const NODES: &str = "16";

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
    /// Measure all pairs without any fault, and with a slow link and a quota of CPU time planted; fail unless none is
    /// named, and then exactly the two nodes with their limiters
    #[arg(long)]
    check: bool,
    /// The bitcost to check [default: it is built]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// A command that is run in an allocation of all nodes, with SLURM_CONF set
    #[arg(last = true)]
    words: Vec<String>,
}

impl Bed {
    /// A command in an allocation of all nodes.
    fn allocated(&self, words: &[String]) -> Command {
        let mut command = Command::new("salloc");
        command.args(["-Q", "-N", NODES]).args(words);
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command
    }

    /// The hosts and pairs that bitcost names, each with what limits it.
    fn named(&self, program: &Path) -> Result<Vec<[String; 2]>> {
        let study = word(&self.write("mesh.toml", STUDY)?);
        let out = word(&self.path("runs"));
        let words = ["run", &study, "--slurm", "--json", "--out", &out];
        let words = std::iter::once(program.display().to_string()).chain(words.map(str::to_owned));
        let output = self.allocated(&words.collect::<Vec<_>>()).output()?;
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

    /// Whether a mesh names exactly these faults, which are planted.
    fn check(&self, program: &Path, faults: &[(&str, &str, u32, &str)]) -> Result<bool> {
        println!("{} faults planted:", faults.len());
        let named = self.named(program)?;
        let has = |(_, _, node, limiter): &(&str, &str, u32, &str)| {
            let is = |[name, limited]: &[String; 2]| {
                *name == format!("n{node}") && limited.starts_with(limiter)
            };
            named.iter().any(is)
        };
        let is_right = named.len() == faults.len() && faults.iter().all(has);
        println!("named exactly, with the right limiters: {is_right}");
        Ok(is_right)
    }
}

/// Starts the bed, and checks or runs a command there; returns whether that was successful.
pub fn run(arguments: &Arguments) -> Result<bool> {
    require(PROGRAMS, "slurmctld slurmd slurm-client munge iproute2")?;
    let bed = Bed::up(SCRIPT, &[NODES, RATES[0]])?;
    if !arguments.check {
        let words = words_or_shell(&arguments.words);
        return Ok(bed.allocated(&words).status()?.success());
    }
    let program = given_or_built(arguments.program.as_deref())?;
    let names_none = bed.check(&program, &[])?;
    for (kind, value, node, _) in FAULTS {
        bed.script("fault", &[kind, &node.to_string(), value])?;
    }
    Ok(bed.check(&program, &FAULTS)? && names_none)
}
