//! The PID namespace of the processes that other programs start in a lab, so that none of them
//! outlives the lab: its first process ends with the daemon, and the kernel kills all others with
//! it, including those that became daemons.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};

use bitcost_sys::namespace::{Kind, unshare};
use bitcost_sys::process::{Ignored, OWN_PROGRAM, die_with_parent, ignore};

use crate::LabError;

/// The hidden command on which the program must call [`main`].
pub const PROCESSES_VERB: &str = "lab-processes";

/// The argument of the first process, in place of its parent's process id.
const FIRST: &str = "first";

/// The PID namespace of a lab's processes; dropping it ends them.
#[derive(Debug)]
pub(crate) struct Processes {
    parent: Child,
    /// The process id of the first process, outside of the namespace.
    pub(crate) first_pid: u32,
}

impl Processes {
    /// Creates the namespace. The caller is the daemon, whose other namespaces the processes share.
    pub(crate) fn start() -> Result<Processes, LabError> {
        let spawned = Command::new(OWN_PROGRAM)
            .args([PROCESSES_VERB, &std::process::id().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let cannot =
            |error| LabError::build("start the process that holds the PID namespace", &error);
        let mut parent = spawned.map_err(cannot)?;
        let mut line = String::new();
        if let Some(output) = parent.stdout.take() {
            BufReader::new(output)
                .read_line(&mut line)
                .map_err(cannot)?;
        }
        let first_pid = line.trim().parse();
        let first_pid = first_pid.map_err(|_| {
            let why = line.trim();
            LabError::happened(format!(
                "cannot create a PID namespace for the lab's processes: {why}"
            ))
        });
        Ok(Processes {
            parent,
            first_pid: first_pid?,
        })
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // Both fail only for a process that has exited.
        let _ = self.parent.kill();
        let _ = self.parent.wait();
    }
}

/// Runs the parent of the first process, or that process; to be called first in `main`, while there
/// is one thread.
pub fn main() -> ExitCode {
    let argument = std::env::args().nth(2).unwrap_or_default();
    let outcome = if argument == FIRST {
        first()
    } else {
        hold(argument.parse().unwrap_or(0))
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The daemon reads it, unless it has exited.
            let _ = writeln!(std::io::stdout(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Creates the namespace, starts its first process, and waits until that exits.
fn hold(parent: u32) -> std::io::Result<()> {
    die_with_parent(parent)?;
    unshare(&[Kind::Pid])?;
    let mut command = Command::new(OWN_PROGRAM);
    command
        .args([PROCESSES_VERB, FIRST])
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    let mut first = command.spawn()?;
    // Waiting for a child closes its input, unless it is taken.
    let _input = first.stdin.take();
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", first.id())?;
    output.flush()?;
    first.wait().map(drop)
}

/// The first process of the namespace: reaps all others, and ends with its parent, which holds its
/// input. The parent is outside of the namespace and has no process id there, so that id cannot
/// show that the parent exited before `die_with_parent`.
fn first() -> std::io::Result<()> {
    die_with_parent(0)?;
    ignore(Ignored::Child);
    std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink()).map(drop)
}
