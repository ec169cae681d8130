//! `bitcost completions`: a script by which a shell asks this program for the words that may follow, and the names of studies,
//! labs and hosts among them.

use std::ffi::OsStr;
use std::path::Path;
use std::str::SplitWhitespace;

use bitcost_study::topology::PRESETS;
use clap::Command;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};

use super::lab::running;
use crate::failure::Failure;
use crate::{output, studies};

/// The variable with the shell's name, with which the script starts this program.
const VARIABLE: &str = "BITCOST_COMPLETE";

#[derive(clap::Args)]
pub struct Arguments {
    /// Shell
    #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    shell: String,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let written = shells.completer(&arguments.shell).map(|shell| {
        shell.write_registration(VARIABLE, "bitcost", "bitcost", "bitcost", &mut script)
    });
    written
        .transpose()
        .map_err(|error| output::unwritten(&error))?;
    output::print(&String::from_utf8_lossy(&script))
}

/// Answers a shell that asks what may follow, and ends.
pub fn answer(command: fn() -> Command) {
    let command = move || with_names(command());
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

type Names = fn(&OsStr) -> Vec<CompletionCandidate>;

fn with_names(command: Command) -> Command {
    let verb = command.get_name().to_owned();
    let command = command.mut_args(|argument| match names(&verb, argument.get_id().as_str()) {
        Some(names) => argument.add(ArgValueCompleter::new(names)),
        None => argument,
    });
    command.mut_subcommands(with_names)
}

/// The names that are values of a verb's argument.
fn names(verb: &str, argument: &str) -> Option<Names> {
    match (verb, argument) {
        ("run" | "plan", "study") | ("studies", "name") => Some(of_studies),
        ("up", "lab") | (_, "topology") => Some(of_presets),
        ("down" | "show" | "shell", "name") | ("exec", "lab") | ("set", "words") => {
            Some(of_running)
        }
        (_, "host" | "receiver" | "sender") => Some(of_hosts),
        _ => None,
    }
}

fn of_studies(typed: &OsStr) -> Vec<CompletionCandidate> {
    let names = studies::EMBEDDED.iter().map(|(name, _)| (*name).to_owned());
    with_files(names, typed)
}

fn of_presets(typed: &OsStr) -> Vec<CompletionCandidate> {
    with_files(PRESETS.iter().map(|preset| preset.name.to_owned()), typed)
}

fn of_running(typed: &OsStr) -> Vec<CompletionCandidate> {
    begun(running::names().unwrap_or_default(), typed)
}

/// This host, and those that the user's configuration of ssh names.
fn of_hosts(typed: &OsStr) -> Vec<CompletionCandidate> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let config = std::fs::read_to_string(Path::new(&home).join(".ssh/config")).unwrap_or_default();
    let lines = config.lines().map(str::split_whitespace);
    let of_line = |mut words: SplitWhitespace<'_>| {
        let is_host = words.next()?.eq_ignore_ascii_case("host");
        is_host.then(|| Vec::from_iter(words.map(str::to_owned)))
    };
    let names = lines.filter_map(of_line).flatten();
    let names = names.filter(|name| !name.contains(['*', '?', '!']));
    begun(names.chain(["local".to_owned()]), typed)
}

fn with_files(names: impl IntoIterator<Item = String>, typed: &OsStr) -> Vec<CompletionCandidate> {
    let is_read = |path: &Path| {
        path.extension()
            .is_some_and(|end| end == "toml" || end == "mn")
    };
    let files = PathCompleter::any().filter(move |path| path.is_dir() || is_read(path));
    let mut all = begun(names, typed);
    all.extend(files.complete(typed));
    all
}

/// The names that begin with what was typed, each once.
fn begun(names: impl IntoIterator<Item = String>, typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let mut names: Vec<String> = names
        .into_iter()
        .filter(|name| name.starts_with(&*typed))
        .collect();
    names.sort();
    names.dedup();
    names.into_iter().map(CompletionCandidate::new).collect()
}
