//! `bitcost lab exec`: a program in a node of a running lab.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use bitcost_sys::process::{Ignored, die_with_spawner_outside, ignore};

use super::running::running;
use crate::failure::Failure;
use crate::output;

/// Which program, and where.
#[derive(clap::Args)]
pub struct Arguments {
    /// Name of the lab [default: the only one that is running]
    #[arg(long)]
    lab: Option<String>,
    /// Node, such as h1 or s1
    node: String,
    /// Program to run, with its arguments
    #[arg(last = true, required = true)]
    command: Vec<std::ffi::OsString>,
}

/// Exit codes of a shell for a program that cannot be found, or cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;
/// The number that a shell adds to the number of the signal that ended a program.
const SIGNALLED: i32 = 128;

/// Runs the program and ends with its exit code. Nothing here may start a thread before the lab is
/// entered.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let lab = running(arguments.lab.as_deref())?;
    let note = lab
        .entry
        .enter(&arguments.node)
        .map_err(|error| match error {
            error @ bitcost_lab::LabError::NoSuchHost { .. } => Failure::Usage(error.to_string()),
            error => error.into(),
        })?;
    note.iter()
        .for_each(|note| output::say(&format!("note: {note}")));
    let (program, rest) = arguments
        .command
        .split_first()
        .ok_or_else(|| Failure::Usage("no program".to_owned()))?;
    let mut command = Command::new(program);
    command
        .args(rest)
        .env("BITCOST_LAB", &lab.name)
        .env("BITCOST_NODE", &arguments.node);
    die_with_spawner_outside(&mut command);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            output::say(&format!(
                "bitcost: cannot start {}: {error}",
                program.to_string_lossy()
            ));
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            return Err(Failure::Program(if is_missing {
                NOT_FOUND
            } else {
                NOT_STARTED
            }));
        }
    };
    // The terminal sends Ctrl-C to both processes; only the program acts on it.
    [Ignored::Interrupt, Ignored::Quit]
        .into_iter()
        .for_each(ignore);
    let status = child
        .wait()
        .map_err(|error| Failure::Environment(format!("cannot wait for the program: {error}")))?;
    match code(status) {
        0 => Ok(()),
        code => Err(Failure::Program(code)),
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .unwrap_or_else(|| SIGNALLED + status.signal().unwrap_or_default());
    u8::try_from(code).unwrap_or(u8::MAX)
}
