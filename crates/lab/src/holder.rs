//! The process that holds a lab: builds it, answers, and keeps it until its standard input ends.
//!
//! It needs to be a process of its own: a user namespace can be made only with a single thread,
//! and the kernel removes the namespaces when their last process is gone, however it went.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::LabError;
use crate::build::{Network, build, isolate};
use crate::programs::Programs;
use crate::protocol::{Answer, Order, Ready, Request};

/// Runs the holder; to be called first of all in `main`, while there is one thread.
///
/// Reads the request from standard input, answers on standard output, then holds the lab and obeys orders until
/// standard input ends or the controller dies.
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
    let told = tell(&answer);
    if held.is_none() || told.is_err() {
        return ExitCode::FAILURE;
    }
    // Whether the input ends or breaks, the controller is gone.
    while let (Some((network, _)), Some(Ok(line))) = (&held, input.by_ref().lines().next()) {
        let answer = obey(&line, network).map_or_else(Answer::Failed, |()| Answer::Done);
        if tell(&answer).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn obey(line: &str, network: &Network) -> Result<(), LabError> {
    match serde_json::from_str(line).map_err(unreadable)? {
        Order::LimitQueues(limit) => network.limit_queues(limit),
    }
}

fn unreadable(error: serde_json::Error) -> LabError {
    LabError::holder(format!("the request cannot be read: {error}; use one version of bitcost"))
}

/// What lives as long as the holder.
type Held = (Network, Option<Programs>);

fn hold(line: &str) -> Result<(Held, Ready), LabError> {
    let request: Request = serde_json::from_str(line).map_err(unreadable)?;
    request.topology.check()?;
    let has_user_namespace = isolate()?;
    // After the change of credentials, which would clear it.
    sys::process::die_with_parent(request.controller_pid)
        .map_err(|error| LabError::holder(format!("the controller is not the parent: {error}")))?;
    let (network, mut ready) = build(&request.topology, has_user_namespace)?;
    let programs = request.has_visitors.then(|| Programs::start(Path::new("/proc/self/exe"))).transpose()?;
    ready.programs_pid = programs.as_ref().map(|programs| programs.first_pid);
    Ok(((network, programs), ready))
}

fn tell(answer: &Answer) -> io::Result<()> {
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, answer)?;
    output.write_all(b"\n")?;
    output.flush()
}
