//! The processes among which a lab's visitors run, so that none of them outlives the lab: a PID namespace whose first
//! process ends with the holder. The kernel kills all others with it, those that became daemons too.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use sys::namespace::{Kind, unshare};
use sys::process::{Ignored, die_with_parent, ignore};

use crate::LabError;

/// The hidden verb with which the program must call [`main`].
pub const PROGRAMS_VERB: &str = "lab-programs";

/// Of the first process, in place of its parent's number.
const FIRST: &str = "first";

/// The PID namespace of a lab's visitors; dropping it ends them.
#[derive(Debug)]
pub(crate) struct Programs {
    keeper: Child,
    /// The first process, as numbered outside.
    pub(crate) first_pid: u32,
}

impl Programs {
    /// Makes the namespace. The caller is the holder, whose namespaces its processes share.
    pub(crate) fn start(program: &Path) -> Result<Programs, LabError> {
        let spawned = Command::new(program)
            .args([PROGRAMS_VERB, &std::process::id().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let cannot = |error| LabError::build("start the process that keeps the lab's programs", &error);
        let mut keeper = spawned.map_err(cannot)?;
        let mut line = String::new();
        if let Some(output) = keeper.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(cannot)?;
        }
        let first_pid = line.trim().parse();
        let first_pid = first_pid.map_err(|_| LabError::Build {
            happened: format!("cannot make a PID namespace for the lab's programs: {}", line.trim()),
        });
        Ok(Programs { keeper, first_pid: first_pid? })
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        // Both fail only for a process that has ended.
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

/// Runs the keeper of the namespace, or its first process; to be called first of all in `main`, while there is one thread.
pub fn main() -> ExitCode {
    let argument = std::env::args().nth(2).unwrap_or_default();
    let outcome = if argument == FIRST { first() } else { keep(argument.parse().unwrap_or(0)) };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The holder reads it, unless it has ended.
            let _ = writeln!(std::io::stdout(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Makes the namespace, starts its first process, and waits until that has ended.
fn keep(parent: u32) -> std::io::Result<()> {
    die_with_parent(parent)?;
    unshare(&[Kind::Pid])?;
    let mut command = Command::new("/proc/self/exe");
    command.args([PROGRAMS_VERB, FIRST]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut first = command.spawn()?;
    // To wait for a child closes its input, unless it is taken.
    let _input = first.stdin.take();
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", first.id())?;
    output.flush()?;
    first.wait().map(drop)
}

/// The first process of the namespace: leaves nothing of those that end, and ends with the keeper, which holds its input.
/// Its parent is outside of its namespace and has no number there, so it could not see by that number that the keeper had
/// ended before it asked to die with it.
fn first() -> std::io::Result<()> {
    die_with_parent(0)?;
    ignore(Ignored::Child);
    std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink()).map(drop)
}
