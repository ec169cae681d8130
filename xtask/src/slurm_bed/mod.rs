//! A real Slurm of some nodes in network namespaces: bitcost measures all pairs of its nodes with three planted faults,
//! and without any.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

const BED: &str = include_str!("bed.sh");

/// What the bed is made of, all in Debian.
const PROGRAMS: [&str; 9] = [
    "munged",
    "slurmctld",
    "slurmd",
    "srun",
    "salloc",
    "scontrol",
    "tc",
    "nft",
    "nsenter",
];

/// The rate of each node's link, and that of the node whose link is slow.
const RATES: [&str; 2] = ["400mbit", "40mbit"];

/// Nodes with a slow link, with loss and with a quota of CPU time.
const FAULTY: [u32; 3] = [3, 7, 11];

#[derive(clap::Args)]
pub struct Arguments {
    /// Number of nodes
    #[arg(long, default_value_t = 16)]
    nodes: u32,
    /// Measure all pairs with a slow link, loss and a quota of CPU time planted, and without any fault; fail unless
    /// exactly the three nodes are named, and then none
    #[arg(long)]
    check: bool,
    /// Seed of the order of pairs
    #[arg(long, default_value_t = 1)]
    seed: u64,
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

    /// The nodes that bitcost names, each with what limits it.
    fn named(&self, nodes: u32, seed: u64, name: &str) -> Result<Vec<(String, String)>> {
        let (study, out) = (self.0.join("mesh.toml"), self.0.join(name));
        let bitcost = crate::bench_peers::built("bitcost")?;
        let mut words = vec![
            bitcost.display().to_string(),
            "run".to_owned(),
            study.display().to_string(),
        ];
        words.extend(["--slurm", "--json", "--seed"].map(str::to_owned));
        words.extend([
            seed.to_string(),
            "--out".to_owned(),
            out.display().to_string(),
        ]);
        let output = self.allocated(nodes, &words).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "bitcost failed: {said}");
        let document: Value = serde_json::from_slice(&output.stdout).context("a document")?;
        let outliers = document["mesh"]["outliers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let mut found = Vec::new();
        for outlier in &outliers {
            let sender = &outlier["sender"];
            let host = if sender.is_null() {
                &outlier["receiver"]
            } else {
                sender
            };
            let what = match outlier["kind"].as_str() {
                Some("pair") => format!("{} > {}", text(sender), text(&outlier["receiver"])),
                _ => text(host),
            };
            println!(
                "  {what} as {}: {:.1} %, {}",
                outlier["kind"],
                outlier["pct"].as_f64().unwrap_or_default(),
                outlier["limiter"]
            );
            found.push((what, text(&outlier["limiter"])));
        }
        Ok(found)
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
    for program in PROGRAMS {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .output()?;
        if !found.status.success() {
            bail!(
                "{program} is missing: apt-get install slurmctld slurmd slurm-client munge iproute2 nftables"
            );
        }
    }
    ensure!(
        arguments.nodes >= FAULTY[2] || !arguments.check,
        "--check needs {} nodes",
        FAULTY[2]
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
    let study = "title = \"All pairs\"\nquestion = \"Which node is slow?\"\n[mesh]\npattern = \"all-pairs\"\n[workload]\nduration_s = 0.3\nwarmup_s = 0.2\n";
    std::fs::write(folder.path().join("mesh.toml"), study)?;
    println!("nothing planted:");
    let clean = bed.named(arguments.nodes, arguments.seed, "clean")?;
    let [slow, lossy, limited] = FAULTY.map(|node| node.to_string());
    bed.script(&["fault", "rate", &slow, RATES[1]])?;
    bed.script(&["fault", "loss", &lossy, "10"])?;
    bed.script(&["fault", "quota", &limited, "5000"])?;
    println!("slow link of n{slow}, 1 % loss at n{lossy}, 5 % of a CPU at n{limited}:");
    let faulty = bed.named(arguments.nodes, arguments.seed, "faulty")?;
    let named: BTreeSet<&str> = faulty.iter().map(|(node, _)| node.as_str()).collect();
    let expected: Vec<String> = FAULTY.iter().map(|node| format!("n{node}")).collect();
    let is_exact =
        named.len() == expected.len() && expected.iter().all(|node| named.contains(node.as_str()));
    println!(
        "named without faults: {}; with faults exactly the three: {is_exact}",
        clean.len()
    );
    Ok(clean.is_empty() && is_exact)
}
