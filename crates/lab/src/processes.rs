//! The PID namespace of the processes that other programs start in a lab, so that none of them
//! outlives the lab: its first process ends with the daemon, and the kernel kills all others with
//! it, including those that became daemons.

use std::io;
use std::process::{Child, Command, ExitCode, Stdio};

use bitcost_sys::namespace::{Kind, unshare};
use bitcost_sys::process::{OWN_PROGRAM, die_with_parent, ignore};
use rustix::process::Signal;

use crate::LabError;

/// The hidden command on which the program must call [`main`].
pub const PROCESSES_VERB: &str = "lab-processes";

/// The PID namespace of a lab's processes; dropping it ends them.
#[derive(Debug)]
pub(crate) struct Processes(Child);

impl Processes {
    /// Creates the namespace. The caller is the daemon, whose other namespaces the processes share,
    /// and which can start no thread afterwards.
    pub(crate) fn start() -> Result<Processes, LabError> {
        let first = unshare(&[Kind::Pid]).and_then(|()| {
            let mut command = Command::new(OWN_PROGRAM);
            command.arg(PROCESSES_VERB).stdin(Stdio::piped());
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
        });
        let asked = "create a PID namespace for the lab's processes";
        first
            .map(Processes)
            .map_err(|error| LabError::build(asked, &error))
    }

    /// The process id of the first process, outside of the namespace.
    pub(crate) fn first_pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // Both fail only for a process that has exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the first process of the namespace.
pub fn main() -> ExitCode {
    match first() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Reaps all others, and ends with its parent, which holds its input. The parent is outside of the
/// namespace and has no process id there, so that id cannot show that the parent exited before
/// `die_with_parent`.
fn first() -> io::Result<()> {
    die_with_parent(0)?;
    ignore(Signal::CHILD);
    io::copy(&mut io::stdin().lock(), &mut io::sink()).map(drop)
}
