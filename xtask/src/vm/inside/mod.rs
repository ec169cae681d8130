//! The part that runs in a machine: its first process and the checks.

mod checks;
mod cost;
mod guest;
mod init;
mod pair;
mod port;
mod wanted;

use std::process::ExitCode;

use anyhow::Result;
pub use wanted::{ROLE, Role, WANTED, Wanted};

/// The function of this process if it runs in a machine; `None` elsewhere.
pub fn role() -> Option<fn() -> ExitCode> {
    let name = std::env::args_os().next()?;
    let name = std::path::Path::new(&name)
        .file_name()?
        .to_str()?
        .to_owned();
    match name.as_str() {
        wanted::CHECKS => Some(|| worked(checks::work())),
        wanted::PAIR => Some(|| worked(pair::work())),
        wanted::COST => Some(|| worked(cost::work())),
        _ if std::process::id() == 1 => Some(init::main),
        _ => None,
    }
}

fn worked(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("checks: {error:#}");
            ExitCode::FAILURE
        }
    }
}
