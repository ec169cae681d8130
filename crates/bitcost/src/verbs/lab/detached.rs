//! `bitcost lab up --detach`: the lab is kept by a process in a separate session.

use std::fs::File;
use std::io::{self, Read};
use std::process::{Command, Stdio};

use bitcost_sys::process::OWN_PROGRAM;
use rustix::process::setsid;
use rustix::stdio::{dup2_stderr, dup2_stdout};

use crate::failure::Failure;
use crate::output;

/// The option by which the process that keeps the lab knows that it is that process.
pub const BACKGROUND: &str = "in-background";

/// Starts the same command as a process that keeps the lab, and returns when the lab is ready: what
/// that process prints until then is printed.
pub fn start() -> Result<(), Failure> {
    let cannot = |error: std::io::Error| {
        Failure::Environment(format!(
            "cannot start the process that keeps the lab: {error}"
        ))
    };
    let mut words: Vec<_> = std::env::args_os().skip(1).collect();
    let end_of_options = words.iter().position(|word| word == "--");
    let at = end_of_options.unwrap_or(words.len());
    words.insert(at, format!("--{BACKGROUND}").into());
    let mut background = Command::new(OWN_PROGRAM)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    let mut text = String::new();
    if let Some(mut printed) = background.stdout.take() {
        printed.read_to_string(&mut text).map_err(cannot)?;
    }
    // It prints nothing before the lab is ready, and then only this.
    if text.is_empty() {
        let code = background.wait().map_err(cannot)?.code();
        let code = code.and_then(|code| u8::try_from(code).ok());
        return Err(Failure::Program(code.unwrap_or(3)));
    }
    output::print(&text)
}

/// Leaves the session of the terminal, so that neither Ctrl-C nor its end reaches the lab.
pub fn leave() -> Result<(), Failure> {
    let left = setsid().map(drop);
    left.map_err(|error| {
        Failure::Environment(format!("cannot leave the terminal's session: {error}"))
    })
}

/// Lets go of both outputs, whose readers would otherwise wait for the end of the lab.
pub fn let_go() -> Result<(), Failure> {
    let silenced = || {
        let null = File::options().write(true).open("/dev/null")?;
        dup2_stdout(&null)?;
        Ok::<_, io::Error>(dup2_stderr(&null)?)
    };
    silenced().map_err(|error| Failure::Environment(format!("cannot open /dev/null: {error}")))
}
