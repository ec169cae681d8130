//! `bitcost`: the command line, what is printed, and exit codes.

mod examples;
mod failure;
mod foreign;
mod format;
mod mistakes;
mod opened;
mod options;
mod outcome;
mod output;
mod panel;
mod progress;
mod signals;
mod studies;
mod verbs;

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches, Parser};

use crate::failure::Failure;
use crate::mistakes::Mistake;

/// Measures what a Mbit/s costs in CPU time at the sender and the receiver, and names the
/// bottleneck.
#[derive(Parser)]
#[command(
    name = "bitcost",
    version,
    about,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "`bitcost man COMMAND` prints a manual page, `bitcost completions SHELL` a completion script."
)]
struct Cli {
    #[command(subcommand)]
    verb: verbs::Verb,
}

fn main() -> ExitCode {
    bitcost_sys::process::show_as_bitcost();
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    match words.first().and_then(|word| word.to_str()) {
        // It changes its namespaces, which needs a process without any other thread.
        Some(bitcost_lab::DAEMON_VERB) => return bitcost_lab::daemon::main(),
        Some(bitcost_lab::processes::PROCESSES_VERB) => return bitcost_lab::processes::main(),
        Some(bitcost_host::WATCHDOG_VERB) => return verbs::host::watchdog(),
        Some(bitcost_execute::requests::REQUESTS_VERB) => return bitcost_execute::requests::main(),
        // What reads the words of foreign hosts has one thread, and parses no command line. It tells
        // the service why it ends.
        Some(bitcost_service::FRONT_VERB) => {
            return bitcost_service::front().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
        }
        _ => {}
    }
    match parsed() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Does what the command line says.
fn parsed() -> Result<(), Failure> {
    verbs::completions::answer(command);
    let matched = command().try_get_matches();
    let parsed = matched.and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed.map_err(|error| error.format(&mut command())) {
        Ok(cli) => verbs::run(cli.verb, command()),
        Err(error) => explained(&error),
    }
}

fn command() -> Command {
    let command = Cli::command().mut_subcommand("test", options::daily::short);
    examples::with_examples(foreign::with_synonyms(command), "")
}

/// Prints the requested help or version, or says what is wrong with the command line.
fn explained(error: &clap::Error) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let printed = error.print().and_then(|()| std::io::stdout().flush());
            printed.map_err(|error| output::unwritten(&error))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // The command line is wrong whether or not standard error can be written.
            let _ = error.print();
            Err(Failure::Program(2))
        }
        _ => {
            let words = &output::command_line()[1..];
            let mistake = Mistake { words, error };
            Err(Failure::Usage(mistake.sentence(&command())))
        }
    }
}
