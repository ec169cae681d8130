//! A real Kubernetes of some nodes in network namespaces: bitcost measures a mesh over pods and over the nodes' own network,
//! as a user with the rights of docs/howto/fleet.md, and nothing is left afterwards.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{Bed, word};
use crate::programs::{given_or_built, output, require};

const SCRIPT: &str = include_str!("kubernetes.sh");

/// The page with the rights that a user needs.
const PAGE: &str = include_str!("../../../docs/howto/fleet.md");

/// What the bed needs in addition to the binaries of Kubernetes, all in Debian.
const PROGRAMS: &str = "etcd containerd ctr runc openssl nsenter nft cc /usr/lib/cni/bridge";

const BINARIES: &str = "kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl";

const IMAGE: &str = "localhost/bitcost:bed";

const STUDY: &str = "title = \"All pairs\"\nquestion = \"Which node is slow?\"\n[mesh]\npattern = \"all-pairs\"\nnetwork = \"pod\"\n[workload]\nduration_s = 0.3\nwarmup_s = 0.1\n";

/// When everything must be gone after bitcost was killed.
const GONE: Duration = Duration::from_secs(180);

/// What to do in the bed.
#[derive(clap::Args)]
pub struct Arguments {
    /// Folder with kube-apiserver, kube-controller-manager, kube-scheduler, kubelet and kubectl
    #[arg(long, value_name = "FOLDER")]
    binaries: PathBuf,
    /// Nodes
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..100))]
    nodes: u32,
    /// The bitcost that is run, also in pods [default: that of this repository, in release mode]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// A bed with the binaries of Kubernetes, and the bitcost that measures in it.
struct Cluster {
    bed: Bed,
    binaries: PathBuf,
    program: PathBuf,
}

impl Cluster {
    /// What kubectl prints for the administrator.
    fn kubectl(&self, words: &[&str]) -> Result<String> {
        let mut command = Command::new(self.binaries.join("kubectl"));
        command.env("KUBECONFIG", self.bed.path("admin.conf"));
        output(command.args(words))
    }

    /// Starts a mesh as the ordinary user.
    fn start(&self, study: &str, words: &[&str]) -> Result<Child> {
        let path = std::env::var("PATH")?;
        let mut command = Command::new(&self.program);
        command
            .env("KUBECONFIG", self.bed.path("user.conf"))
            .env("PATH", format!("{}:{path}", self.binaries.display()));
        command.current_dir(self.bed.folder.path());
        command.args(["run", study, "--kubernetes", "--image", IMAGE]);
        command.args(["--image-pull-policy", "Never", "--out", "runs"]);
        let command = command.args(words).stdout(Stdio::piped());
        Ok(command.stderr(Stdio::piped()).spawn()?)
    }

    /// The number of jobs and pods of bitcost.
    fn left(&self) -> Result<usize> {
        let selector = "--selector=app.kubernetes.io/managed-by=bitcost";
        let found = self.kubectl(&["get", "jobs,pods", "--output=name", selector])?;
        Ok(found.lines().count())
    }

    /// Waits until this number of objects of bitcost is there, or none.
    fn wait(&self, is_reached: impl Fn(usize) -> bool) -> Result<Duration> {
        let began = Instant::now();
        while !is_reached(self.left()?) {
            ensure!(
                began.elapsed() < GONE,
                "{} objects after {GONE:?}",
                self.left()?
            );
            std::thread::sleep(Duration::from_millis(500));
        }
        Ok(began.elapsed())
    }
}

/// Starts the bed, measures a mesh there, interrupts one and kills one; false unless all runs have results and nothing is left.
pub fn run(arguments: &Arguments) -> Result<bool> {
    require(
        PROGRAMS,
        "etcd-server containerd runc containernetworking-plugins openssl nftables gcc",
    )?;
    let binaries = std::fs::canonicalize(&arguments.binaries)
        .with_context(|| format!("{}", arguments.binaries.display()))?;
    if let Some(missing) = BINARIES
        .split(' ')
        .find(|name| !binaries.join(name).is_file())
    {
        bail!("{missing} is not in {}", binaries.display());
    }
    let program = given_or_built(arguments.program.as_deref())?;
    let (began, nodes) = (Instant::now(), arguments.nodes.to_string());
    let bed = Bed::up(SCRIPT, &[&nodes, &word(&binaries), &word(&program)])?;
    let cluster = Cluster {
        bed,
        binaries,
        program,
    };
    println!(
        "{nodes} nodes are ready after {:.1} s",
        began.elapsed().as_secs_f64()
    );
    check(&cluster, arguments.nodes as usize)
}

/// A mesh that completes, one that is interrupted, and one that is killed.
fn check(cluster: &Cluster, nodes: usize) -> Result<bool> {
    let long = STUDY.replace("duration_s = 0.3", "duration_s = 5");
    cluster.bed.write("long.toml", long)?;
    let rights = word(&cluster.bed.write("rights.yaml", rights()?)?);
    cluster.kubectl(&["apply", "--filename", &rights])?;
    let mut is_whole = true;
    for network in ["pod", "host"] {
        let text = STUDY.replace("\"pod\"", &format!("\"{network}\""));
        cluster.bed.write("mesh.toml", text)?;
        let output = cluster
            .start("mesh.toml", &["--json"])?
            .wait_with_output()?;
        println!("network {network}:");
        is_whole &= completed(&output, nodes)?;
    }
    let gone = cluster.wait(|count| count == 0)?;
    println!("nothing is left {:.1} s later", gone.as_secs_f64());
    let is_interrupted = stopped(cluster, nodes, "INT")?;
    let is_killed = stopped(cluster, nodes, "KILL")?;
    Ok(is_whole && is_interrupted && is_killed)
}

/// The YAML of the page, for the ordinary user.
fn rights() -> Result<String> {
    let (_, after) = PAGE.split_once("```yaml\n").context("YAML in fleet.md")?;
    let (yaml, _) = after.split_once("```").context("an end of the YAML")?;
    Ok(yaml.to_owned())
}

/// Prints what bitcost says; returns whether every run has a result.
fn completed(output: &Output, hosts: usize) -> Result<bool> {
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "bitcost failed: {said}");
    let document: Value = serde_json::from_slice(&output.stdout).context("a document")?;
    let expected = hosts * (hosts - 1);
    println!("{} of {expected} runs have a result", document["runs"]);
    for line in said.lines().filter(|line| !line.starts_with("run ")) {
        println!("  {line}");
    }
    Ok(document["runs"].as_u64() == Some(expected as u64))
}

/// Ends a mesh by a signal in its first run, and prints when nothing of it is left.
fn stopped(cluster: &Cluster, nodes: usize, signal: &str) -> Result<bool> {
    let mut child = cluster.start("long.toml", &[])?;
    // A job and a pod for each node.
    cluster.wait(|count| count == 2 * nodes)?;
    std::thread::sleep(Duration::from_secs(5));
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", signal, &pid]).status()?;
    let ended = child.wait()?;
    let gone = cluster.wait(|count| count == 0)?;
    println!(
        "SIG{signal}: {ended}; nothing is left {:.0} s later",
        gone.as_secs_f64()
    );
    Ok(sent.success())
}
