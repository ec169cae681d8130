//! Examples, with which the help of a command begins.

use clap::Command;

/// One on each line, without the name of the program, and what it does; the first line says so.
const TABLE: &str = include_str!("examples.txt");

/// The command line below this path of verbs, with the examples of its commands.
pub fn with_examples(command: Command, path: &str) -> Command {
    command.mut_subcommands(|verb| {
        let path = format!("{path}{} ", verb.get_name());
        let own = |(typed, _): &(&str, &str)| format!("{typed} ").starts_with(&path);
        let examples = TABLE
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(" | "));
        let examples: Vec<(&str, &str)> = examples.filter(own).collect();
        if examples.is_empty() || verb.has_subcommands() {
            return with_examples(verb, &path);
        }
        let widest = examples.iter().map(|(typed, _)| typed.len()).max();
        let width = widest.unwrap_or_default();
        let line = |(typed, what): &(&str, &str)| format!("  bitcost {typed:<width$}  {what}\n");
        verb.before_help(examples.iter().map(line).collect::<String>())
    })
}
