//! `bitcost`: the command line, what is printed, and exit codes.

mod failure;
mod files;
mod format;
mod opened;
mod options;
mod output;
mod progress;
mod signals;
mod studies;
mod verbs;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::failure::Failure;

/// Measures what a Mbit/s costs in CPU time at the sender and the receiver, and names the
/// bottleneck.
#[derive(Parser)]
#[command(name = "bitcost", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: verbs::Verb,
}

fn main() -> ExitCode {
    // The lab daemon changes its namespaces, which needs a process without any other thread.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|verb| verb == bitcost_lab::DAEMON_VERB)
    {
        return bitcost_lab::daemon::main();
    }
    if std::env::args_os()
        .nth(1)
        .is_some_and(|verb| verb == bitcost_lab::processes::PROCESSES_VERB)
    {
        return bitcost_lab::processes::main();
    }
    if std::env::args_os()
        .nth(1)
        .is_some_and(|verb| verb == bitcost_host::WATCHDOG_VERB)
    {
        return verbs::host::watchdog();
    }
    let done = match Cli::try_parse() {
        Ok(cli) => verbs::run(cli.verb, Cli::command()),
        Err(words) => explained(&words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Prints the requested help or version, or the error of the command line.
fn explained(words: &clap::Error) -> Result<(), Failure> {
    let printed = words.print().and_then(|()| std::io::stdout().flush());
    match u8::try_from(words.exit_code()) {
        Ok(0) => printed.map_err(|error| output::unwritten(&error)),
        // The command line is wrong whether or not standard error can be written.
        code => Err(Failure::Program(code.unwrap_or(2))),
    }
}
