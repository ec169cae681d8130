//! The nodes of a Slurm allocation: their names and addresses, and the step that starts an agent at
//! one. Everything is asked of Slurm's own programs.

use std::net::IpAddr;
use std::process::Command;

use bitcost_model::harmless;
use bitcost_model::place::IpVersion;

use super::foreign::Foreign;
use super::resolve;
use crate::error::ExecuteError;

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
pub fn nodes() -> Result<Vec<Foreign>, ExecuteError> {
    let missing = "--slurm needs an allocation of Slurm, and SLURM_JOB_NODELIST is not set here; run bitcost in one: salloc -N 16 bitcost run …, or in a script for sbatch";
    let list = std::env::var("SLURM_JOB_NODELIST").unwrap_or_default();
    if list.is_empty() {
        return Err(ExecuteError::Environment(missing.to_owned()));
    }
    if list.starts_with('-') {
        return Err(ExecuteError::Environment(format!(
            "SLURM_JOB_NODELIST is `{}`; allowed: a list of nodes such as n[1-4]",
            list.escape_debug()
        )));
    }
    let names = scontrol(&["show", "hostnames", &list])?;
    names
        .lines()
        .map(|name| {
            let node = Foreign::of(name.trim(), "a Slurm node");
            node.map_err(|why| ExecuteError::Environment(why.0))
        })
        .collect()
}

fn scontrol(words: &[&str]) -> Result<String, ExecuteError> {
    let asked = Command::new("scontrol").args(words).output();
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
pub(super) fn address(node: &Foreign, version: Option<IpVersion>) -> Result<IpAddr, ExecuteError> {
    let shown = scontrol(&["show", "node", node.as_str(), "-o"])?;
    let named = shown
        .split_whitespace()
        .find_map(|word| word.strip_prefix("NodeAddr="));
    let name = named.unwrap_or(node.as_str());
    resolve::first(name, version).map_err(|why| {
        ExecuteError::Environment(format!(
            "{}, the address of the node {node}, {why}; name the interface for the data: --network-device DEVICE",
            harmless(name)
        ))
    })
}

/// Starts `there`, which a shell reads, at a node: a step that lasts as long as the agent.
pub(super) fn step(node: &Foreign, there: &str) -> Command {
    let mut command = Command::new("srun");
    command.args(STEP);
    command.args(["-w", node.as_str(), "--", "sh", "-c", there]);
    command
}

/// What a step said, without what is no error.
pub(super) fn errors(said: &str) -> String {
    let lines = said.lines().filter(|line| !line.contains(NO_BINDING));
    lines.collect::<Vec<_>>().join(" ")
}
