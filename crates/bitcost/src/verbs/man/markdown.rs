//! The manual as one page of Markdown, from the definitions of the command line.

use std::collections::BTreeMap;

use bitcost_model::settings::SETTINGS;
use bitcost_render::markdown_table::cell;
use clap::{Arg, Command};

use crate::failure::EXIT_CODES;

const COLUMNS: usize = 100;

/// The help of every command, and the exit codes.
pub fn page(mut command: Command) -> String {
    command = command
        .disable_help_subcommand(true)
        .term_width(COLUMNS)
        .max_term_width(COLUMNS);
    command.build();
    let mut all = below(&command);
    all.sort_by_key(|command| command.get_name() != "test");
    let mut text = String::from(
        "# Commands\n\n`bitcost COMMAND --help` prints the same in a terminal, and `bitcost man COMMAND | man -l -` as a \
         page of the manual.\n\n| command | what it does |\n|---|---|\n",
    );
    for command in &all {
        let about = command.get_about().map(ToString::to_string);
        let about = cell(&about.unwrap_or_default());
        text += &format!("| {} | {about} |\n", link(&full_name(command)));
    }
    text += "\nOptions of every command: `-h` prints short help, `--help` long help.\n\n## Exit codes\n\n";
    text += "| code | meaning |\n|---|---|\n";
    for (code, meaning) in EXIT_CODES {
        text += &format!("| {code} | {} |\n", cell(meaning));
    }
    let mut described = BTreeMap::new();
    text.extend(all.into_iter().map(|one| section(one, &mut described)));
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

/// Where the options are described that are settings, all of which a command has, or none.
const SETTINGS_PAGE: &str = "[Settings](settings.md)";

fn link(name: &str) -> String {
    format!("[`{name}`](#{})", name.replace(' ', "-"))
}

/// The help of a command, and where the options are that are described elsewhere.
fn section(mut command: Command, described: &mut BTreeMap<String, String>) -> String {
    let name = full_name(&command);
    let here = link(&name);
    // Usage leaves out hidden options.
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let mut elsewhere: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let own = command.before_help(None::<&str>);
    let mut own = own.override_usage(usage).mut_args(|option| {
        let is_help = option.get_id() == "help";
        let shown = match (option.get_long(), option.get_short()) {
            _ if is_help || option.is_hide_set() => return option.hide(true),
            (Some(long), _) => format!("`--{long}`"),
            (None, Some(short)) => format!("`-{short}`"),
            (None, None) => return option,
        };
        let place = place(&option, &here, described);
        if place == here {
            return option;
        }
        elsewhere.entry(place).or_default().push(shown);
        option.hide(true)
    });
    let help = own.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let help = lines.join("\n");
    let mut text = format!("\n## {name}\n\n```text\n{}\n```\n", help.trim_end());
    for (place, options) in elsewhere {
        text += &match place == SETTINGS_PAGE {
            true => format!("\nAlso the options in {place}.\n"),
            false => format!("\nAs in {place}: {}.\n", options.join(", ")),
        };
    }
    text
}

/// A link to where an option with this help is described: with the settings, or the first command
/// that has it.
fn place(option: &Arg, here: &str, described: &mut BTreeMap<String, String>) -> String {
    let help = option.get_long_help().or(option.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let mut settings = SETTINGS.iter();
    if settings.any(|row| option.get_id() == row.name && help.starts_with(row.about)) {
        return SETTINGS_PAGE.to_owned();
    }
    let first = described.entry(format!("{} {help}", option.get_id()));
    first.or_insert_with(|| here.to_owned()).clone()
}
