//! The manual as one page of Markdown, from the definitions of the command line.

use std::collections::BTreeSet;

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
         page of the manual. What several commands have is described with the first of them; the options of \
         [settings](settings.md) are there.\n\n| command | what it does |\n|---|---|\n",
    );
    for command in &all {
        let (name, about) = (full_name(command), command.get_about());
        let about = cell(&about.map(ToString::to_string).unwrap_or_default());
        text += &format!("| [`{name}`](#{}) | {about} |\n", name.replace(' ', "-"));
    }
    text += "\nOptions of every command: `-h` prints short help, `--help` long help.\n\n## Exit codes\n\n";
    text += "| code | meaning |\n|---|---|\n";
    for (code, meaning) in EXIT_CODES {
        text += &format!("| {code} | {} |\n", cell(meaning));
    }
    let mut described = BTreeSet::new();
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

/// The help of a command, without options that were described before.
fn section(command: Command, described: &mut BTreeSet<String>) -> String {
    let name = full_name(&command);
    let mut others = Vec::new();
    let mut own = command.mut_args(|option| {
        let long = option.get_long().map(|long| format!("`--{long}`"));
        match long.filter(|_| !option.is_hide_set()) {
            Some(long) if is_described(&option, described) => others.push(long),
            _ => return option,
        }
        option.hide(true)
    });
    others.retain(|option| option != "`--help`");
    let help = own.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!("\nAlso {}.\n", others.join(", ")),
    };
    let help = lines.join("\n");
    format!("\n## {name}\n\n```text\n{}\n```\n{others}", help.trim_end())
}

/// Whether the page has the option with this help already, or it is a setting.
fn is_described(option: &Arg, described: &mut BTreeSet<String>) -> bool {
    let help = option.get_long_help().or(option.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let is_new = described.insert(format!("{} {help}", option.get_id()));
    let mut settings = SETTINGS.iter();
    !is_new || settings.any(|row| option.get_id() == row.name && help.starts_with(row.about))
}
