//! `bitcost`: the command line, what is printed, and exit codes.

mod failure;
mod files;
mod foreign;
mod format;
mod mistakes;
mod opened;
mod options;
mod outcome;
mod output;
mod own_json;
mod progress;
mod signals;
mod studies;
mod terminal;
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
    if std::env::args_os()
        .nth(1)
        .is_some_and(|verb| verb == bitcost_execute::echo::ECHO_VERB)
    {
        return bitcost_execute::echo::main();
    }
    // What reads the words of foreign hosts has one thread, and parses no command line.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|verb| verb == bitcost_service::FRONT_VERB)
    {
        // The service is told why, over the socket that it gave.
        return match bitcost_service::front() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    if std::env::args_os().skip(1).eq(["help", "settings"]) {
        return match verbs::settings() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.report(),
        };
    }
    let matched = command().try_get_matches();
    let parsed = matched.and_then(|matches| Cli::from_arg_matches(&matches));
    let done = match parsed.map_err(|error| error.format(&mut command())) {
        Ok(cli) => verbs::run(cli.verb, command()),
        Err(error) => explained(&error),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// The whole command line.
fn command() -> Command {
    let command = Cli::command().mut_subcommand("test", options::daily::short);
    foreign::with_synonyms(command)
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
