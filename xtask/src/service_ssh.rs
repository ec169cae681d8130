//! `cargo xtask service-ssh`: whether a test over the service and one over ssh give the same figures.
//!
//! Two network namespaces, joined by a veth pair, are the hosts. At the far one a real sshd and
//! `bitcost serve` listen at the same address. Each block has one test by either way, in random order.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail, ensure};
use bitcost_lab::{Address, End, Lab, Link, Node, NodeKind, Topology};
use bitcost_model::shaping::Shaping;
use bitcost_stats::{Scale, change, median, paired_change};
use bitcost_testkit::sshd::{Server, Servers, obstacle};
use serde_json::Value;

use crate::bench_peers::given_or_built;
use crate::serving::Serving;

/// What to run, and how often.
#[derive(clap::Args)]
pub struct Arguments {
    /// The bitcost to try; else it is built as users build it
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// How often each way is measured; 20 blocks take about two minutes
    #[arg(long, default_value_t = 20)]
    blocks: u32,
    /// The seed of the order
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The test
    #[arg(last = true, default_values_t = ["tcp", "-l", "16K", "-t", "1"].map(str::to_owned))]
    words: Vec<String>,
}

/// The hosts.
const NEAR: &str = "near";
const FAR: &str = "far";

/// The figures that are compared, each with its unit.
const FIGURES: [(&str, &str); 3] = [
    ("throughput_mbps", "Mbit/s"),
    ("send_service_demand_us_per_kib", "us/KiB"),
    ("receive_service_demand_us_per_kib", "us/KiB"),
];

/// How often a test is made whose cost is not known, because other programs took CPU time.
const ATTEMPTS: usize = 5;

/// The fewest blocks that give an interval.
const BLOCKS_LEAST: u32 = 5;

/// Makes the tests and prints a line for each figure; returns whether every interval of the ratio
/// contains 1.
///
/// # Errors
/// When a host cannot be built, or a test fails.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(reason) = obstacle() {
        bail!("{reason}");
    }
    ensure!(
        arguments.blocks >= BLOCKS_LEAST,
        "--blocks {} gives no interval; allowed: {BLOCKS_LEAST} or more",
        arguments.blocks
    );
    let program = given_or_built(arguments.program.as_deref())?;
    let field = Field::new(program)?;
    // The service's place is known by the client's first test, which spends the link.
    field.test(&["tcp", "-t", "200ms"], &[field.service.link()?])?;
    let ways = field.ways();
    let mut found = [const { [const { Vec::new() }; 3] }; 2];
    for block in 0..arguments.blocks {
        for way in bitcost_study::shuffled(ways.len(), arguments.seed, block) {
            let figures = field.figures(&arguments.words, &ways[way])?;
            for (found, figure) in found[way].iter_mut().zip(figures) {
                found.push(figure);
            }
        }
    }
    println!(
        "{}: {} blocks, seed {}; medians over ssh and over the service, and service ÷ ssh with its 95 % interval",
        arguments.words.join(" "),
        arguments.blocks,
        arguments.seed
    );
    let [ssh, service] = found;
    let mut is_same = true;
    for (place, (name, unit)) in FIGURES.into_iter().enumerate() {
        is_same &= compared(name, unit, &ssh[place], &service[place])?;
    }
    Ok(is_same)
}

/// Prints the ratio of a figure, whose values are in the order of the blocks; returns whether its
/// interval contains 1. The interval is that of `bitcost compare` for two sides of one execution.
fn compared(name: &str, unit: &str, ssh: &[f64], service: &[f64]) -> Result<bool> {
    let pairs: Vec<(f64, f64)> = ssh.iter().copied().zip(service.iter().copied()).collect();
    let ratio = paired_change(&pairs, Scale::Ratio)
        .or_else(|| change(ssh, service, Scale::Ratio))
        .with_context(|| format!("{name} has no ratio: a value is not above 0"))?
        .interval;
    let bounds = ratio.low.zip(ratio.high);
    let (low, high) = bounds.with_context(|| format!("the ratio of {name} has no interval"))?;
    let is_same = (low..=high).contains(&1.0);
    let medians = [ssh, service].map(|side| median(side).unwrap_or(f64::NAN));
    println!(
        "{name}: {:.4} and {:.4} {unit}; {}: {}",
        medians[0],
        medians[1],
        ratio.with_places(4),
        if is_same { "the same" } else { "DIFFERENT" }
    );
    Ok(is_same)
}

/// Both hosts with what listens at the far one.
struct Field {
    service: Serving,
    servers: Servers,
    lab: Lab,
    program: PathBuf,
    far: IpAddr,
}

impl Field {
    fn new(program: PathBuf) -> Result<Field> {
        let mut servers = Servers::new().context("a separate mount namespace")?;
        let lab = Lab::up(Path::new("/proc/self/exe"), &topology())?;
        let far = address(2).ip;
        let state = start_sshd(&mut servers, &lab, FAR, far)?;
        let mut serve = Command::new(&program);
        serve
            .args(["serve", &far.to_string(), "--state"])
            .arg(servers.path("service"))
            .env("BITCOST_STATE_DIR", &state);
        lab.command_in(FAR, &mut serve)?;
        Ok(Field {
            service: Serving::start(serve, "bitcost://")?,
            servers,
            lab,
            program,
            far,
        })
    }

    /// The words for each way: ssh, then the service.
    fn ways(&self) -> [Vec<String>; 2] {
        let (far, config) = (self.far.to_string(), self.servers.config());
        let program = self.program.display().to_string();
        let by_ssh = [
            "--receiver",
            "ssh:far",
            "--remote-program",
            &program,
            "--ssh-config",
            &config.display().to_string(),
        ];
        [
            by_ssh.map(str::to_owned).to_vec(),
            ["--receiver".to_owned(), far].to_vec(),
        ]
    }

    /// The figures of a test, in the order of [`FIGURES`]. One without them is made again.
    fn figures(&self, words: &[String], way: &[String]) -> Result<Vec<f64>> {
        for _ in 0..ATTEMPTS {
            let document = self.test(words, way)?;
            let cell = &document["cells"][0];
            let of_test = |(name, _): &(&str, &str)| cell[name]["median"].as_f64();
            if let Some(figures) = FIGURES.iter().map(of_test).collect() {
                return Ok(figures);
            }
            println!("a test is made again, for its cost is not known");
        }
        bail!(
            "{ATTEMPTS} tests with {} did not tell what they cost: other programs take CPU time; measure on a machine that does nothing else",
            way.join(" ")
        )
    }

    /// What a test from the near host prints.
    fn test(
        &self,
        words: &[impl AsRef<std::ffi::OsStr>],
        way: &[impl AsRef<std::ffi::OsStr>],
    ) -> Result<Value> {
        let state = self.servers.path("near-state");
        fs::create_dir_all(&state)?;
        let mut command = Command::new(&self.program);
        command
            .arg("test")
            .args(words)
            .args(way)
            .args(["--json", "--no-log"])
            .env("BITCOST_STATE_DIR", state)
            .stdin(Stdio::null());
        self.lab.command_in(NEAR, &mut command)?;
        let output = command.output().context("start bitcost")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "bitcost test: {}: {said}",
            output.status
        );
        serde_json::from_slice(&output.stdout).context("what bitcost test printed")
    }
}

/// Two hosts and the link between them.
fn topology() -> Topology {
    let node = |name: &str| Node {
        name: name.to_owned(),
        kind: NodeKind::Host,
        routes: Vec::new(),
    };
    let end = |node: &str, last| End {
        node: node.to_owned(),
        device: "eth0".to_owned(),
        addresses: vec![address(last)],
        egress: Shaping::default(),
        gro_off: false,
    };
    Topology {
        nodes: vec![node(NEAR), node(FAR)],
        links: vec![Link {
            ends: [end(NEAR, 1), end(FAR, 2)],
            mtu_bytes: 1500,
        }],
        ..Topology::default()
    }
}

fn address(last: u8) -> Address {
    Address {
        ip: [10, 9, 0, last].into(),
        prefix_length: 24,
    }
}

/// Starts an sshd in a host of the lab; returns the folder for what bitcost keeps there.
fn start_sshd(servers: &mut Servers, lab: &Lab, name: &str, address: IpAddr) -> Result<PathBuf> {
    let state = servers.path(&format!("{name}-state"));
    let server = Server {
        name,
        address,
        environment: &[format!("BITCOST_STATE_DIR={}", state.display())],
    };
    let enter = |command: &mut Command| {
        lab.command_in(name, command)
            .map_err(|error| error.to_string())
    };
    servers
        .start(&server, enter)
        .map_err(|error| anyhow!(error))?;
    Ok(state)
}
