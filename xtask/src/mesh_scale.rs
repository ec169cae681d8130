//! What a mesh of many hosts costs the controller: real agents on this machine, which two scripts in place of Slurm's
//! programs start.

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
    Ok(true)
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
    let status = std::fs::read_to_string(format!("/proc/{}/status", bitcost.id()))?;
    let field = |name: &str| {
        let mut lines = status.lines();
        let found = lines.find_map(|line| line.strip_prefix(name));
        found.unwrap_or_default().trim().to_owned()
    };
    Ok(format!(
        "{} agents: the first run ended after {:.1} s, each further one took {each:.2} s; controller: {}, {} threads",
        arguments.hosts,
        start.as_secs_f64(),
        field("VmHWM:"),
        field("Threads:")
    ))
}

/// The runs that the only log in a folder has.
fn ended(runs: &Path) -> usize {
    let folder = std::fs::read_dir(runs)
        .ok()
        .and_then(|mut all| all.next()?.ok());
    let text =
        folder.and_then(|folder| std::fs::read_to_string(folder.path().join("events.jsonl")).ok());
    text.map_or(0, |text| text.matches("\"event\":\"run_ended\"").count())
}
