//! A real Slurm of some nodes in network namespaces: bitcost measures all pairs of its nodes with two planted faults,
//! and without any.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use serde_json::Value;

use super::{Bed, word};
use crate::programs::{given_or_built, json, require};

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
    /// The bitcost to check [default: it is built]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

impl Bed {
    /// The hosts and pairs that bitcost names, each with what limits it.
    fn named(&self, program: &Path) -> Result<Vec<[String; 2]>> {
        let study = word(&self.write("mesh.toml", STUDY)?);
        let out = word(&self.path("runs"));
        // In an allocation of all nodes.
        let mut command = Command::new("salloc");
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command.args(["-Q", "-N", NODES]).arg(program);
        command.args(["run", &study, "--slurm", "--json", "--out", &out]);
        let document = json(&mut command)?;
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

/// Starts the bed and measures all pairs there, without any fault, and with a slow link and a quota of CPU time planted; false
/// unless none is named, and then exactly the two nodes with their limiters.
pub fn run(arguments: &Arguments) -> Result<bool> {
    require(PROGRAMS, "slurmctld slurmd slurm-client munge iproute2")?;
    let program = given_or_built(arguments.program.as_deref())?;
    let bed = Bed::up(SCRIPT, &[NODES, RATES[0]])?;
    let names_none = bed.check(&program, &[])?;
    for (kind, value, node, _) in FAULTS {
        bed.script("fault", &[kind, &node.to_string(), value])?;
    }
    Ok(bed.check(&program, &FAULTS)? && names_none)
}
