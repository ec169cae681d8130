//! The lab daemon: the process that builds a lab, answers, and holds it until its standard input
//! ends.
//!
//! It must be a separate process: a user namespace can be made only with a single thread,
//! and the kernel removes the namespaces when their last process is gone, for whatever reason.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::LabError;
use crate::build::{Network, build, isolate};
use crate::processes::Processes;
use crate::protocol::{Answer, Order, Ready, Request};

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
        Ok((held, ready)) => (Some(held), Answer::Ready(ready)),
        Err(error) => (None, Answer::Failed(error)),
    };
    let sent = send(&answer);
    if held.is_none() || sent.is_err() {
        return ExitCode::FAILURE;
    }
    // The controller is gone if the input ends or fails.
    while let (Some((network, _)), Some(Ok(line))) = (&held, input.by_ref().lines().next()) {
        let answer = execute(&line, network).map_or_else(Answer::Failed, |()| Answer::Done);
        if send(&answer).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn execute(line: &str, network: &Network) -> Result<(), LabError> {
    match serde_json::from_str(line).map_err(unreadable)? {
        Order::LimitQueues(limit) => network.limit_queues(limit),
    }
}

fn unreadable(error: serde_json::Error) -> LabError {
    LabError::daemon(format!(
        "the request cannot be read: {error}; use one version of bitcost"
    ))
}

/// The values that live as long as the daemon.
type Held = (Network, Option<Processes>);

fn hold(line: &str) -> Result<(Held, Ready), LabError> {
    let request: Request = serde_json::from_str(line).map_err(unreadable)?;
    request.topology.check()?;
    let has_user_namespace = isolate()?;
    // After the change of credentials, which would clear it.
    bitcost_sys::process::die_with_parent(request.controller_pid)
        .map_err(|error| LabError::daemon(format!("the controller is not the parent: {error}")))?;
    let (network, mut ready) = build(&request.topology, has_user_namespace)?;
    let programs = request
        .is_enterable
        .then(|| Processes::start(Path::new("/proc/self/exe")))
        .transpose()?;
    ready.init_pid = programs.as_ref().map(|programs| programs.first_pid);
    Ok(((network, programs), ready))
}

fn send(answer: &Answer) -> io::Result<()> {
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, answer)?;
    output.write_all(b"\n")?;
    output.flush()
}
