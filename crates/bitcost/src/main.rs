//! `bitcost`: what a Mbit/s costs, and what limits it.

mod calibration;
mod failure;
mod files;
mod format;
mod hosts;
mod identity;
mod labs;
mod mode_search;
mod opened;
mod output;
mod peers;
mod place;
mod programs;
mod studies;
mod verbs;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::failure::Failure;

/// What a Mbit/s costs, and what limits it.
#[derive(Parser)]
#[command(name = "bitcost", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: verbs::Verb,
}

fn main() -> ExitCode {
    // The holder changes its namespaces, which needs a process without any other thread.
    if std::env::args_os().nth(1).is_some_and(|verb| verb == lab::HOLDER_VERB) {
        return lab::holder::main();
    }
    if std::env::args_os().nth(1).is_some_and(|verb| verb == lab::programs::PROGRAMS_VERB) {
        return lab::programs::main();
    }
    if std::env::args_os().nth(1).is_some_and(|verb| verb == host::KEEPER_VERB) {
        return verbs::host::keeper();
    }
    match Cli::try_parse().map_or_else(|words| explained(&words), |cli| verbs::run(cli.verb)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Prints the help or version that was asked for, or what is wrong with the command line.
fn explained(words: &clap::Error) -> Result<(), Failure> {
    let printed = words.print().and_then(|()| std::io::stdout().flush());
    match u8::try_from(words.exit_code()) {
        Ok(0) => printed.map_err(|error| output::unwritten(&error)),
        // Standard error that cannot be written changes nothing of what is wrong.
        code => Err(Failure::Program(code.unwrap_or(2))),
    }
}
