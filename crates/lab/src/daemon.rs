//! The lab daemon: the process that builds a lab, answers, and holds it until its standard input
//! ends.
//!
//! It must be a separate process: a user namespace can be made only with a single thread,
//! and the kernel removes the namespaces when their last process is gone, for whatever reason.

use std::io::{self, BufRead, Read, Write};
use std::process::ExitCode;

use rustix::system::uname;
use serde::Serialize;

use crate::LabError;
use crate::build::{Network, build, isolate};
use crate::memory_file::MemoryFile;
use crate::processes::Processes;
use crate::protocol::{Ready, Request, Set};
use crate::state::{Change, State};

/// Runs the daemon; to be called first of all in `main`, while there is one thread.
///
/// Reads the request from standard input, answers on standard output, then holds the lab and
/// executes orders until standard input ends or the controller dies.
pub fn main() -> ExitCode {
    let mut input = io::stdin().lock();
    let mut line = String::new();
    if input.read_line(&mut line).unwrap_or(0) == 0 {
        return ExitCode::FAILURE;
    }
    let (held, answer) = match hold(&line) {
        Ok((held, ready)) => (Some(held), Ok(ready)),
        Err(error) => (None, Err(error)),
    };
    let (Some(mut held), Ok(())) = (held, send(&answer)) else {
        return ExitCode::FAILURE;
    };
    // The controller is gone if the input ends or fails.
    while let Some(Ok(line)) = input.by_ref().lines().next() {
        let order = serde_json::from_str(&line).map_err(unreadable);
        if send(&order.and_then(|order| held.set(order))).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn unreadable(error: serde_json::Error) -> LabError {
    LabError::daemon(format!(
        "the request cannot be read: {error}; use the same version of bitcost"
    ))
}

struct Held {
    network: Network,
    /// Where other processes may enter the lab: its present state, in memory and in its file.
    state: Option<(MemoryFile, State)>,
    _programs: Option<Processes>,
}

impl Held {
    fn set(&mut self, Set { at, wanted }: Set) -> Result<Vec<String>, LabError> {
        let before = self.network.topology().clone();
        let notes = self.network.set(&wanted)?;
        let Some((file, state)) = &mut self.state else {
            return Ok(notes);
        };
        for (device, to) in wanted {
            let Some(end) = before.end(&device).filter(|end| end.egress != to) else {
                continue;
            };
            state.changes.push(Change {
                at: at.clone(),
                device,
                from: end.egress.clone(),
                to,
            });
        }
        state.topology = self.network.topology().clone();
        state.write(file)?;
        Ok(notes)
    }
}

fn hold(line: &str) -> Result<(Held, Ready), LabError> {
    let request: Request = serde_json::from_str(line).map_err(unreadable)?;
    request.topology.check()?;
    let has_user_namespace = isolate()?;
    // After the change of credentials, which would clear it.
    bitcost_sys::process::die_with_parent(request.controller_pid)
        .map_err(|error| LabError::daemon(format!("the controller is not the parent: {error}")))?;
    let (network, mut ready) = build(&request.topology, &request.emulate, has_user_namespace)?;
    let mut held = Held {
        network,
        state: None,
        _programs: None,
    };
    if !request.is_enterable {
        return Ok((held, ready));
    }
    let programs = Processes::start()?;
    ready.init_pid = Some(programs.first_pid());
    held._programs = Some(programs);
    let mut file = MemoryFile::new("bitcost-lab")
        .map_err(|error| LabError::build("make the file of the lab's state", &error))?;
    ready.state_fd = Some(file.fd());
    let state = State {
        topology: request.topology,
        changes: Vec::new(),
        ready: ready.clone(),
        machine: uname().nodename().to_string_lossy().into_owned(),
    };
    state.write(&mut file)?;
    held.state = Some((file, state));
    Ok((held, ready))
}

fn send<T: Serialize>(answer: &Result<T, LabError>) -> io::Result<()> {
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, answer)?;
    output.write_all(b"\n")?;
    output.flush()
}
