//! The manual as one page of Markdown, from the definitions of the command line.

use bitcost_render::markdown_table::cell;
use clap::{Arg, Command};

use crate::failure::EXIT_CODES;

/// Every command with its arguments and options, and the exit codes.
pub fn page(mut command: Command) -> String {
    command = command.disable_help_subcommand(true);
    command.build();
    let mut text = String::from(
        "# Commands\n\n`bitcost COMMAND --help` prints the same in a terminal, and `bitcost man COMMAND | man -l -` as a \
         page of the manual.\n\n",
    );
    let all = below(&command);
    text += "| command | what it does |\n|---|---|\n";
    for command in &all {
        let (name, about) = (full_name(command), cell(&about(command)));
        text += &format!("| [`{name}`](#{}) | {about} |\n", name.replace(' ', "-"));
    }
    text += "\nOptions of every command: `-h` prints short help, `--help` long help.\n\n## Exit codes\n\n";
    text += "| code | meaning |\n|---|---|\n";
    for (code, meaning) in EXIT_CODES {
        text += &format!("| {code} | {} |\n", cell(meaning));
    }
    for command in &all {
        text += &section(command);
    }
    text
}

/// The commands that do something, below a command, in their order.
fn below(command: &Command) -> Vec<Command> {
    let visible = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    visible
        .flat_map(|verb| {
            let does_something = !verb.is_subcommand_required_set();
            let own = does_something.then(|| verb.clone());
            own.into_iter().chain(below(verb))
        })
        .collect()
}

/// The name with those of the commands above it.
fn full_name(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    name.to_owned()
}

fn about(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about());
    about.map(ToString::to_string).unwrap_or_default()
}

/// One command: what it does, how it is called, and a table of its arguments.
fn section(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    let mut text = format!(
        "\n## {}\n\n{}.\n\n```text\n{usage}\n```\n",
        full_name(command),
        about(command).trim_end_matches('.')
    );
    let is_shown =
        |arg: &&Arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(is_shown)
        .partition(|arg| arg.is_positional());
    for (kind, args) in [("argument", positional), ("option", options)] {
        if !args.is_empty() {
            text += &format!("\n| {kind} | is |\n|---|---|\n");
            args.iter().for_each(|arg| text += &row(arg));
        }
    }
    text
}

/// One argument or option with its other names, its values and its default.
fn row(arg: &Arg) -> String {
    let values: Vec<String> = arg
        .get_value_names()
        .filter(|_| arg.get_action().takes_values())
        .unwrap_or_default()
        .iter()
        .map(|name| format!("<{name}>"))
        .collect();
    let values = values.join(" ");
    let mut names: Vec<String> = Vec::new();
    names.extend(arg.get_short().map(|short| format!("`-{short}`")));
    let long = arg.get_long().map(|long| format!("--{long} {values}"));
    names.extend(long.map(|long| format!("`{}`", long.trim_end())));
    if arg.is_positional() {
        names.push(format!("`{values}`"));
    }
    let aliases = arg.get_all_aliases().unwrap_or_default();
    names.extend(aliases.iter().map(|alias| format!("`--{alias}`")));

    let help = arg.get_long_help().or(arg.get_help());
    let mut help = cell(&help.map(ToString::to_string).unwrap_or_default());
    let possible = arg.get_possible_values();
    let words: Vec<String> = possible
        .iter()
        .filter(|value| !value.is_hide_set() && arg.get_action().takes_values())
        .map(|value| match value.get_help() {
            Some(about) => format!("`{}` ({})", value.get_name(), cell(&about.to_string())),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if !words.is_empty() {
        help += &format!("<br>One of: {}", words.join(", "));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().collect();
    if let ([default], true) = (&defaults[..], arg.get_action().takes_values()) {
        help += &format!("<br>Default: `{}`", default.to_string_lossy());
    }
    format!("| {} | {help} |\n", cell(&names.join(", ")))
}
