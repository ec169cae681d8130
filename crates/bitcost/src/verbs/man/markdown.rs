//! The manual as one page of Markdown, from the definitions of the command line.

use bitcost_render::markdown_table::cell;
use bitcost_study::settings::{SETTINGS, Setting};
use clap::builder::StyledStr;
use clap::{Arg, Command};

use crate::failure::EXIT_CODES;

/// The fewest options that a command shares with one above it for their names to stand for their rows.
const FEWEST_SHARED: usize = 3;

/// Every command with its arguments and options, and the exit codes.
pub fn page(mut command: Command) -> String {
    command = command.disable_help_subcommand(true);
    command.build();
    let mut text = String::from(
        "# Commands\n\n`bitcost COMMAND --help` prints the same in a terminal, and `bitcost man COMMAND | man -l -` as a \
         page of the manual.\n\n",
    );
    let mut all = below(&command);
    all.sort_by_key(|command| command.get_name() != "test");
    text += "| command | what it does |\n|---|---|\n";
    for command in &all {
        let (name, about) = (full_name(command), cell(&about(command.get_about())));
        text += &format!("| [`{name}`](#{}) | {about} |\n", name.replace(' ', "-"));
    }
    text += "\nOptions of every command: `-h` prints short help, `--help` long help.\n\n## Exit codes\n\n";
    text += "| code | meaning |\n|---|---|\n";
    for (code, meaning) in EXIT_CODES {
        text += &format!("| {code} | {} |\n", cell(meaning));
    }
    let mut above = Vec::new();
    for command in &all {
        text += &section(command, &mut above);
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

/// A text of the help.
fn about(about: Option<&StyledStr>) -> String {
    about.map(ToString::to_string).unwrap_or_default()
}

/// A command with the rows of its options.
type Above = (String, Vec<String>);

/// One command: what it does, how it is called, and its arguments and options.
fn section(command: &Command, above: &mut Vec<Above>) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    let about = about(command.get_long_about().or(command.get_about()));
    let mut text = format!(
        "\n## {}\n\n{}.\n\n```text\n{usage}\n```\n",
        full_name(command),
        about.trim_end_matches('.')
    );
    let is_shown =
        |arg: &&Arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(is_shown)
        .partition(|arg| arg.is_positional());
    text += &table("argument", positional.into_iter().map(row));
    let rows: Vec<String> = options.iter().map(|arg| row(arg)).collect();
    let (mut own, mut shared) = (vec![true; rows.len()], String::new());
    let mut leave_out = |of: &str, is_there: &dyn Fn(usize) -> bool, all: usize| {
        let found: Vec<usize> = (0..rows.len())
            .filter(|i| own[*i] && is_there(*i))
            .collect();
        if found.len() < FEWEST_SHARED {
            return;
        }
        found.iter().for_each(|index| own[*index] = false);
        let names: Vec<String> = found.iter().map(|index| name(options[*index])).collect();
        shared += &match found.len() == all {
            true => format!("\nAll options of {of}.\n"),
            false => format!("\nAs in {of}: {}.\n", names.join(", ")),
        };
    };
    for (other, known) in above.iter() {
        let link = format!("[`{other}`](#{})", other.replace(' ', "-"));
        leave_out(&link, &|index| known.contains(&rows[index]), known.len());
    }
    let settings = "[Settings](settings.md), which has their values";
    leave_out(settings, &|index| is_setting(options[index]), usize::MAX);
    let printed = rows.iter().zip(&own).filter(|(_, own)| **own);
    text += &table("option", printed.map(|(row, _)| row.clone()));
    text += &shared;
    above.push((full_name(command), rows));
    text
}

/// Whether an option is that of a setting, and says the same.
fn is_setting(option: &Arg) -> bool {
    let help = about(option.get_long_help().or(option.get_help()));
    let is_of = |setting: &Setting| option.get_id() == setting.name && help == setting.about;
    SETTINGS.iter().any(is_of)
}

/// A table of arguments or options; nothing without rows.
fn table(kind: &str, rows: impl Iterator<Item = String>) -> String {
    let rows: String = rows.collect();
    match rows.is_empty() {
        true => rows,
        false => format!("\n| {kind} | is |\n|---|---|\n{rows}"),
    }
}

/// An option as it is written.
fn name(option: &Arg) -> String {
    let short = || option.get_short().map(|short| format!("`-{short}`"));
    let long = option.get_long().map(|long| format!("`--{long}`"));
    long.or_else(short).unwrap_or_default()
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

    let help = about(arg.get_long_help().or(arg.get_help()));
    // The short help has the values in its text.
    let mut help = cell(help.split(" [possible values: ").next().unwrap_or_default());
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
