//! The nodes of a Slurm allocation: their names and addresses, and the step that starts an agent at one. Everything
//! is asked of Slurm's own programs.

use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;

use bitcost_controller::{Endpoint, Explain};
use bitcost_model::harmless;
use bitcost_model::place::IpVersion;

use super::bootstrap::{self, COPY_FAILS, NO_FOLDER};
use super::named::{Host, parse_node};
use super::resolve;
use crate::error::ExecuteError;
use crate::programs::Programs;

/// Options of srun: one process at the node, whose input and output are passed on at once and unchanged, next to other
/// steps of the allocation, on all of its CPUs.
const STEP: &[&str] = &[
    "-N1",
    "-n1",
    "--overlap",
    "--unbuffered",
    "--quiet",
    "--mem=0",
    "--cpu-bind=none",
    "--kill-on-bad-exit=0",
    "--job-name=bitcost",
];

/// What srun prints of an option of ours where the site binds no tasks: nothing is missing then.
const NO_BINDING: &str = "lacks support for cpu binding";

/// The nodes of the allocation that this program is in, in Slurm's order.
///
/// # Errors
/// Environment, when it is in none, or Slurm does not answer.
pub fn nodes() -> Result<Vec<String>, ExecuteError> {
    let missing = "--slurm needs an allocation of Slurm, and SLURM_JOB_NODELIST is not set here; run bitcost in one: salloc -N 16 bitcost run …, or in a script for sbatch";
    let list = std::env::var("SLURM_JOB_NODELIST")
        .map_err(|_| ExecuteError::Environment(missing.to_owned()))?;
    let names = scontrol(&["show", "hostnames", &list])?;
    names
        .lines()
        .map(|name| {
            let node = parse_node(name.trim());
            node.map_err(|why| ExecuteError::Environment(why.0))
        })
        .collect()
}

fn scontrol(words: &[&str]) -> Result<String, ExecuteError> {
    let asked = Command::new("scontrol")
        .args(words)
        .stdin(Stdio::null())
        .output();
    let failed =
        |why: String| ExecuteError::Environment(format!("scontrol {}: {why}", words.join(" ")));
    let output =
        asked.map_err(|error| failed(format!("{error}; Slurm's programs must be on the PATH")))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(harmless(
            String::from_utf8_lossy(&output.stderr).trim(),
        ))),
    }
}

/// The address by which Slurm reaches a node.
pub(super) fn address(node: &str, version: Option<IpVersion>) -> Result<IpAddr, ExecuteError> {
    let shown = scontrol(&["show", "node", node, "-o"])?;
    let named = shown
        .split_whitespace()
        .find_map(|word| word.strip_prefix("NodeAddr="));
    let name = named.unwrap_or(node);
    resolve::first(name, version).map_err(|why| {
        ExecuteError::Environment(format!(
            "{name}, the address of the node {node}, {why}; name the interface for the data: --network-device DEVICE"
        ))
    })
}

/// How an agent is started at a node: by a step that lasts as long as the agent.
pub(super) fn endpoint(
    node: &str,
    remote_program: Option<&str>,
    programs: Arc<Programs>,
) -> Endpoint {
    let there = match remote_program {
        Some(program) => format!("exec {program} agent"),
        None => bootstrap::script(false),
    };
    let host = node.to_owned();
    let bootstrap = remote_program
        .is_none()
        .then(|| -> Arc<dyn bitcost_controller::Bootstrap> {
            Arc::new(bootstrap::Bootstrap {
                programs,
                host: host.clone(),
            })
        });
    let explain: Explain = {
        let host = host.clone();
        Arc::new(move |code, said| meaning(&host, code, said))
    };
    let command = move |_: Option<&str>| {
        let mut command = Command::new("srun");
        command
            .args(STEP)
            .args(["-w", &host, "--", "sh", "-c", &there])
            .process_group(0);
        Ok(command)
    };
    Endpoint {
        explain: Some(explain),
        bootstrap,
        ..Endpoint::new(Host::Slurm(node.to_owned()).place(), command)
    }
}

fn meaning(node: &str, code: Option<i32>, said: &str) -> String {
    let lines = said.lines().filter(|line| !line.contains(NO_BINDING));
    let said = lines.collect::<Vec<_>>().join(" ");
    let said = match said.is_empty() {
        true => said,
        false => format!(": {said}"),
    };
    match code {
        Some(NO_FOLDER) => format!(
            "{node} has no folder for a copy of this program{said}; name it there: --remote-program PATH"
        ),
        Some(COPY_FAILS) => format!("the copy of this program does not start at {node}{said}"),
        Some(code) => format!("the step at {node} ended with exit status {code}{said}"),
        None => format!("the step at {node} was ended by a signal{said}"),
    }
}
