//! `bitcost lab exec`: a program in a node of a lab that stands.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use sys::process::{Ignored, die_with_spawner_outside, ignore};

use super::standing;
use crate::failure::Failure;
use crate::output;

/// Which program, and where.
#[derive(clap::Args)]
pub struct Arguments {
    /// The lab, where more than one stands
    #[arg(long)]
    lab: Option<String>,
    /// The node, such as h1 or s1
    node: String,
    /// The program with its arguments
    #[arg(last = true, required = true)]
    command: Vec<std::ffi::OsString>,
}

/// What a shell says of a program that cannot be found, or not be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;
/// What it adds to the number of the signal that ended one.
const SIGNALLED: i32 = 128;

/// Runs the program and ends as it does. Nothing here may start a thread before the lab is entered.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let lab = standing(arguments.lab.as_deref())?;
    let note = lab.door.enter(&arguments.node).map_err(|error| match error {
        error @ lab::LabError::NoSuchHost { .. } => Failure::Usage(error.to_string()),
        error => error.into(),
    })?;
    note.iter().for_each(|note| output::say(&format!("note: {note}")));
    let (program, rest) = arguments.command.split_first().ok_or_else(|| Failure::Usage("no program".to_owned()))?;
    let mut command = Command::new(program);
    command.args(rest).env("BITCOST_LAB", &lab.name).env("BITCOST_NODE", &arguments.node);
    die_with_spawner_outside(&mut command);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            output::say(&format!("bitcost: cannot start {}: {error}", program.to_string_lossy()));
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            return Err(Failure::Program(if is_missing { NOT_FOUND } else { NOT_STARTED }));
        }
    };
    // The terminal sends Ctrl-C to both; it is the program's.
    [Ignored::Interrupt, Ignored::Quit].into_iter().for_each(ignore);
    let status = child.wait().map_err(|error| Failure::Environment(format!("cannot wait for the program: {error}")))?;
    match code(status) {
        0 => Ok(()),
        code => Err(Failure::Program(code)),
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| SIGNALLED + status.signal().unwrap_or_default());
    u8::try_from(code).unwrap_or(u8::MAX)
}
