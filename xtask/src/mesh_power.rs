//! How often slow hosts of a simulated mesh are named, and how often others are: the tables of docs/method/mesh.md.

use anyhow::{Context, Result};
use bitcost_analysis::mesh::{MeshFindings, Named, Outlier, PairRun, follow, judged};
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_study::mesh::{Mesh, Network, Pattern, SCREEN};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/method/mesh.md");
const HOSTS: usize = 64;
/// Hosts that are slow as receivers.
const SLOW: usize = 3;
const EFFECTS: [f64; 5] = [0.0, 0.05, 0.1, 0.2, 0.4];
/// Standard deviations of a run's logarithm.
const NOISES: [f64; 2] = [0.02, 0.05];
/// One in this number of runs is disturbed, and that much slower.
const DISTURBED: u32 = 50;
const BY: f64 = 0.3;
/// The first seed: the rule was chosen with the seeds below 100.
const FIRST: u64 = 1000;

#[derive(clap::Args)]
pub struct Arguments {
    /// Meshes of each kind
    #[arg(long, default_value_t = 100)]
    seeds: u64,
}

/// Simulates the meshes, and writes the table into the page.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let mut table = String::from(
        "| noise of a run | slow by | runs | slow hosts named | others named, per mesh | meshes with another named |\n|---|---|---|---|---|---|\n",
    );
    for noise in NOISES {
        for effect in EFFECTS {
            let (mut hits, mut others, mut meshes, mut runs) = (0, 0, 0, 0);
            for seed in FIRST..FIRST + arguments.seeds {
                let found = simulated(seed, noise, effect)?;
                let is_slow = |outlier: &Named| matches!(outlier, Named::Host(host) | Named::Receiver(host) if *host < SLOW);
                let named: Vec<Named> =
                    found.outliers.iter().map(|outlier| outlier.named).collect();
                let wrong = named
                    .iter()
                    .filter(|named| effect == 0.0 || !is_slow(named))
                    .count();
                hits += named.len() - wrong;
                others += wrong;
                meshes += u64::from(wrong > 0);
                runs += found.runs.len();
            }
            let seeds = arguments.seeds as f64;
            let hits = match effect {
                0.0 => "-".to_owned(),
                _ => format!("{:.0} %", 100.0 * hits as f64 / (seeds * SLOW as f64)),
            };
            table += &format!(
                "| {:.0} % | {:.0} % | {:.0} | {hits} | {:.2} | {meshes} of {} |\n",
                100.0 * noise,
                100.0 * effect,
                runs as f64 / seeds,
                others as f64 / seeds,
                arguments.seeds
            );
        }
    }
    write("table", &table)?;
    write("degrees", &degrees()?)?;
    Ok(true)
}

/// Puts a table into the page, after the comment with its name.
fn write(name: &str, table: &str) -> Result<()> {
    print!("{table}");
    let mark = format!("<!-- {name} -->\n");
    let page = std::fs::read_to_string(PAGE).context(PAGE)?;
    let (before, rest) = page.split_once(&mark).context("the place of the table")?;
    let (_, after) = rest
        .split_once("<!-- end -->")
        .context("the end of the table")?;
    std::fs::write(PAGE, format!("{before}{mark}{table}<!-- end -->{after}"))?;
    Ok(())
}

/// Hosts of a mesh in which all pairs are too many, and those of them that are slow as receivers.
const MANY: usize = 10_000;
const SLOW_OF_MANY: usize = 100;

/// What random regular graphs of several degrees show: the rounds of `screen` in one block or more.
fn degrees() -> Result<String> {
    let mut table = String::from(
        "| partners of a host | runs | slow by 5 % | 10 % | 20 % | 40 % | others named |\n|---|---|---|---|---|---|---|\n",
    );
    for blocks in [1, 2] {
        let (mut hits, mut others, mut runs) = (Vec::new(), 0, 0);
        for effect in &EFFECTS[1..] {
            let mesh = mesh(MANY);
            let groups = (0..blocks).flat_map(|block| mesh.groups(FIRST, block));
            let pairs: Vec<(usize, usize)> = groups.flatten().collect();
            let mut world = World::new(FIRST, SLOW_OF_MANY, NOISES[1], *effect);
            runs = pairs.len();
            let found = judged(mesh, throughput()?, world.runs(pairs));
            let is_slow = |outlier: &&Outlier| matches!(outlier.named, Named::Host(host) | Named::Receiver(host) if host < SLOW_OF_MANY);
            let right = found.outliers.iter().filter(is_slow).count();
            hits.push(format!("{} of {SLOW_OF_MANY}", right));
            others += found.outliers.len() - right;
        }
        table += &format!(
            "| {} | {runs} | {} | {others} in {} meshes |\n",
            SCREEN * blocks as usize,
            hits.join(" | "),
            hits.len()
        );
    }
    Ok(table)
}

fn mesh(hosts: usize) -> Mesh {
    Mesh {
        hosts: (0..hosts).map(|host| host.to_string()).collect(),
        written: Vec::new(),
        is_lab: false,
        pattern: Pattern::Screen,
        is_concurrent: false,
        networks: vec![Network::Pod],
    }
}

fn throughput() -> Result<&'static Metric> {
    metric("throughput_mbps").context("throughput")
}

/// What makes runs: the first hosts are slow as receivers.
struct World {
    random: ChaCha8Rng,
    slow: usize,
    noise: f64,
    effect: f64,
}

impl World {
    fn new(seed: u64, slow: usize, noise: f64, effect: f64) -> World {
        World {
            random: ChaCha8Rng::seed_from_u64(seed),
            slow,
            noise,
            effect,
        }
    }

    fn runs(&mut self, pairs: Vec<(usize, usize)>) -> Vec<PairRun> {
        pairs.into_iter().map(|pair| self.run(pair)).collect()
    }

    fn run(&mut self, pair: (usize, usize)) -> PairRun {
        let is_slow = pair.1 < self.slow;
        let slow = if is_slow { 1.0 - self.effect } else { 1.0 };
        let is_disturbed = self.random.next_u32().is_multiple_of(DISTURBED);
        let disturbed = if is_disturbed { 1.0 - BY } else { 1.0 };
        let mut unit = || f64::from(self.random.next_u32()) / f64::from(u32::MAX);
        let normal = (0..12).map(|_| unit()).sum::<f64>() - 6.0;
        PairRun {
            pair,
            levels: Vec::new(),
            value: 1000.0 * slow * disturbed * (self.noise * normal).exp(),
            lost: None,
            cost: [None; 2],
            limiter: None,
        }
    }
}

/// A mesh with both of its stages.
fn simulated(seed: u64, noise: f64, effect: f64) -> Result<MeshFindings> {
    let mesh = mesh(HOSTS);
    let mut world = World::new(seed, SLOW, noise, effect);
    let runs = world.runs(mesh.groups(seed, 0).concat());
    let mut found = judged(mesh, throughput()?, runs);
    if let Some(second) = found.pairs_to_follow(seed) {
        let pairs = second.lines.lines().filter_map(|line| {
            let (a, b) = line.split_once(' ')?;
            Some((a.parse().ok()?, b.parse().ok()?))
        });
        let pairs: Vec<(usize, usize)> = pairs.collect();
        follow(&mut found, world.runs([pairs.clone(), pairs].concat()));
    }
    Ok(found)
}
