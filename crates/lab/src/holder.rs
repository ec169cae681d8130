//! The process that holds a lab: builds it, answers, and keeps it until its standard input ends.
//!
//! It needs to be a process of its own: a user namespace can be made only with a single thread,
//! and the kernel removes the namespaces when their last process is gone, however it went.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::LabError;
use crate::build::{Namespaces, build, isolate};
use crate::programs::Programs;
use crate::protocol::{Answer, Ready, Request};

/// Runs the holder; to be called first of all in `main`, while there is one thread.
///
/// Reads the request from standard input, answers on standard output, then holds the lab until
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
    let _ = io::copy(&mut input, &mut io::sink());
    ExitCode::SUCCESS
}

/// What lives as long as the holder.
type Held = (Namespaces, Option<Programs>);

fn hold(line: &str) -> Result<(Held, Ready), LabError> {
    let request: Request = serde_json::from_str(line).map_err(|error| {
        LabError::holder(format!("the request cannot be read: {error}; use one version of bitcost"))
    })?;
    request.topology.check()?;
    let has_user_namespace = isolate()?;
    // After the change of credentials, which would clear it.
    sys::process::die_with_parent(request.controller_pid)
        .map_err(|error| LabError::holder(format!("the controller is not the parent: {error}")))?;
    let (namespaces, mut ready) = build(&request.topology, has_user_namespace)?;
    let programs = request.has_visitors.then(|| Programs::start(Path::new("/proc/self/exe"))).transpose()?;
    ready.programs_pid = programs.as_ref().map(|programs| programs.first_pid);
    Ok(((namespaces, programs), ready))
}

fn tell(answer: &Answer) -> io::Result<()> {
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, answer)?;
    output.write_all(b"\n")?;
    output.flush()
}
