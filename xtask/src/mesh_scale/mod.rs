//! What a mesh of many hosts costs the controller: real agents on this machine, which two scripts in place of Slurm's
//! programs start; and what a log of many runs costs its reader.

mod log;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::bench_peers::given_or_built;

/// A step is a process here, and every node has the address of the loopback interface.
const SCRIPTS: [(&str, &str); 2] = [
    (
        "srun",
        "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n",
    ),
    (
        "scontrol",
        "#!/bin/sh\ncase \"$1 $2\" in\n'show hostnames') seq -f n%g \"$3\";;\n*) echo NodeAddr=127.0.0.1;;\nesac\n",
    ),
];

const STUDY: &str = "title = \"Many hosts\"\nquestion = \"What does the controller need?\"\n[mesh]\n[workload]\nduration_s = 1\nwarmup_s = 0.2\n";

/// How long the first runs may take.
const PATIENCE: Duration = Duration::from_secs(600);

#[derive(clap::Args)]
pub struct Arguments {
    /// Number of agents; each needs about 10 MB
    #[arg(long, default_value_t = 1000)]
    hosts: u32,
    /// Write a log of about this number of runs of all pairs of the hosts, with the results of the mesh that was made
    /// (without what the kernel's tables say), and read it by `bitcost show`
    #[arg(long, value_name = "RUNS")]
    log: Option<u32>,
    /// Folder of that log, which is removed afterwards [default: that of temporary files]
    #[arg(long, value_name = "FOLDER", default_value_os_t = std::env::temp_dir())]
    into: PathBuf,
    /// Runs after which the mesh is interrupted
    #[arg(long, default_value_t = 10)]
    runs: usize,
    /// The bitcost to measure [default: it is built]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Measures, and prints what the controller needed.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let program = given_or_built(arguments.program.as_deref())?;
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    for (name, text) in SCRIPTS {
        std::fs::write(path(name), text)?;
        std::fs::set_permissions(path(name), std::fs::Permissions::from_mode(0o755))?;
    }
    std::fs::write(path("mesh.toml"), STUDY)?;
    let rest = std::env::var("PATH").unwrap_or_default();
    let began = Instant::now();
    let mut bitcost = Command::new(&program)
        .arg("run")
        .arg(path("mesh.toml"))
        .args(["--slurm", "--seed", "1", "--remote-program"])
        .arg(&program)
        .arg("--out")
        .arg(path("runs"))
        .env("PATH", format!("{}:{rest}", folder.path().display()))
        .env("SLURM_JOB_NODELIST", arguments.hosts.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("start bitcost")?;
    let measured = measured(&mut bitcost, &path("runs"), (began, arguments));
    let pid = bitcost.id().to_string();
    Command::new("kill").args(["-INT", &pid]).status()?;
    bitcost.wait()?;
    println!("{}", measured?);
    if let Some(count) = arguments.log {
        let folder = tempfile::tempdir_in(&arguments.into)?;
        let own = only_log(&path("runs")).context("a log")?;
        let runs = log::write(&own, (arguments.hosts, count), folder.path())?;
        println!("{runs} runs: {}", read(&program, folder.path())?);
    }
    Ok(true)
}

/// What `bitcost show` needs for the log in a folder.
fn read(program: &Path, folder: &Path) -> Result<String> {
    let bytes = std::fs::metadata(folder.join("events.jsonl"))?.len();
    let began = Instant::now();
    let mut show = Command::new(program)
        .arg("show")
        .arg(folder)
        .stdout(Stdio::null())
        .spawn()?;
    let mut peak = String::new();
    let status = loop {
        // Of a process that has ended nothing is left to be read.
        peak = Some(status_of(show.id(), "VmHWM:"))
            .filter(|now| !now.is_empty())
            .unwrap_or(peak);
        if let Some(status) = show.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    ensure!(status.success(), "bitcost show: {status}");
    let seconds = began.elapsed().as_secs_f64();
    Ok(format!(
        "bitcost show of {} MB took {seconds:.1} s and {peak}",
        bytes / 1_000_000
    ))
}

/// A field of the status of a process; empty where there is none.
fn status_of(pid: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let found = status.lines().find_map(|line| line.strip_prefix(name));
    found.unwrap_or_default().trim().to_owned()
}

/// Waits for the runs, and says what they took and what the controller needs then.
fn measured(
    bitcost: &mut Child,
    runs: &Path,
    (began, arguments): (Instant, &Arguments),
) -> Result<String> {
    let mut first = None;
    loop {
        ensure!(bitcost.try_wait()?.is_none(), "bitcost ended");
        ensure!(began.elapsed() < PATIENCE, "too few runs in time");
        let ended = ended(runs);
        if ended > 0 {
            first.get_or_insert((began.elapsed(), ended));
        }
        if ended >= arguments.runs {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let (start, before) = first.context("a run")?;
    let each = (began.elapsed() - start).as_secs_f64() / (arguments.runs - before).max(1) as f64;
    let field = |name: &str| status_of(bitcost.id(), name);
    Ok(format!(
        "{} agents: the first run ended after {:.1} s, each further one took {each:.2} s; controller: {}, {} threads",
        arguments.hosts,
        start.as_secs_f64(),
        field("VmHWM:"),
        field("Threads:")
    ))
}

/// The only log in a folder.
fn only_log(runs: &Path) -> Option<PathBuf> {
    let folder = std::fs::read_dir(runs).ok()?.next()?.ok()?;
    Some(folder.path().join("events.jsonl"))
}

/// The runs that the only log in a folder has.
fn ended(runs: &Path) -> usize {
    let text = only_log(runs).and_then(|log| std::fs::read_to_string(log).ok());
    text.map_or(0, |text| text.matches("\"event\":\"run_ended\"").count())
}
