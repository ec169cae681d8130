//! `bitcost lab shell`: one prompt for all nodes of a running lab, as Mininet's.

mod commands;

use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bitcost_sys::process::wait_readable;

use super::running::{named, running};
use crate::failure::Failure;
use crate::output;
use commands::Next;

#[derive(clap::Args)]
#[command(after_help = "\
At the prompt: h1 ping -c 3 h2 runs a program in a node, set s1-eth2 delay=20ms changes a link,
help lists the rest. Lines from a pipe or file are a script: it ends at the first line that fails,
with that line's exit code; empty lines and lines that begin with # are skipped.")]
pub struct Arguments {
    /// Name of the lab [default: the only one that is running]
    name: Option<String>,
}

/// How often a prompt looks whether Ctrl-C was typed, which also ends its wait at once.
const LOOK: Duration = Duration::from_secs(1);

/// Executes lines until their end, `exit`, or in a script the first that fails.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let name = named(arguments.name.as_deref(), "name one: bitcost lab shell")?.name;
    let lines = Lines::new(&name)?;
    let mut number = 0;
    while let Some(line) = lines.next()? {
        number += 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match commands::execute(&name, line, lines.is_terminal, &lines.interrupted) {
            Ok(Next::Line) => {}
            Ok(Next::End) => return Ok(()),
            Err(failure) if lines.is_terminal && failure != Failure::OutputClosed => {
                failure.report();
                // Without its lab the prompt is of no use.
                running(&name)?;
            }
            Err(failure) => {
                output::say(&format!("bitcost: line {number} failed: {line}"));
                return Err(failure);
            }
        }
    }
    Ok(())
}

/// The lines of standard input, with a prompt if it is a terminal.
struct Lines {
    is_terminal: bool,
    prompt: String,
    interrupted: Arc<AtomicBool>,
}

impl Lines {
    fn new(lab: &str) -> Result<Lines, Failure> {
        let is_terminal = std::io::stdin().is_terminal();
        let interrupted = Arc::new(AtomicBool::new(false));
        if is_terminal {
            // A handler is not inherited: programs of the shell end on Ctrl-C, the shell does not.
            signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted.clone())
                .map_err(|error| Failure::Environment(format!("cannot catch Ctrl-C: {error}")))?;
        }
        Ok(Lines {
            is_terminal,
            prompt: format!("{lab}> "),
            interrupted,
        })
    }

    fn next(&self) -> Result<Option<String>, Failure> {
        let cannot = |error| Failure::Environment(format!("cannot read standard input: {error}"));
        if self.is_terminal {
            self.interrupted.store(false, Ordering::Relaxed);
            self.ask()?;
            while !wait_readable(std::io::stdin(), LOOK).map_err(cannot)? {
                if self.interrupted.swap(false, Ordering::Relaxed) {
                    output::line("")?;
                    self.ask()?;
                }
            }
        }
        let mut line = String::new();
        let length = std::io::stdin().lock().read_line(&mut line);
        match length.map_err(cannot)? {
            0 if self.is_terminal => output::line("").map(|()| None),
            0 => Ok(None),
            _ => Ok(Some(line)),
        }
    }

    fn ask(&self) -> Result<(), Failure> {
        let mut output = std::io::stdout();
        output
            .write_all(self.prompt.as_bytes())
            .and_then(|()| output.flush())
            .map_err(|error| output::unwritten(&error))
    }
}
