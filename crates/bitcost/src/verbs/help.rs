//! `bitcost help`: the help of a command, or the table of settings.

use bitcost_model::near::did_you_mean;
use bitcost_model::settings::SETTINGS;
use clap::Command;

use crate::failure::Failure;
use crate::output;

/// Prints the help of the command that these words name, or all settings.
pub fn run(words: &[String], command: Command) -> Result<(), Failure> {
    match words {
        [word] if word == "settings" => print_settings(),
        _ => output::print(&named(command, words)?.render_long_help().to_string()),
    }
}

/// The command that these words name, complete with its names and version.
pub fn named(mut command: Command, words: &[String]) -> Result<Command, Failure> {
    command.build();
    let mut found = &command;
    for word in words {
        let missing = || {
            let hint = did_you_mean(word, found.get_subcommands().map(Command::get_name));
            let name = words.join(" ");
            Failure::Usage(format!(
                "there is no command `{name}`{hint}; `bitcost --help` lists them"
            ))
        };
        found = found.find_subcommand(word).ok_or_else(missing)?;
    }
    Ok(found.clone())
}

/// Prints each setting with its option, its values, its default and what it does.
fn print_settings() -> Result<(), Failure> {
    let mut text = String::from(
        "Settings, as studies and `--set NAME=VALUE` name them, with the option of `bitcost test`.\n",
    );
    for setting in SETTINGS {
        let option = match setting.flag {
            Some(flag) => match flag.letter {
                Some(letter) => format!("-{letter}, --{}", flag.long),
                None => format!("--{}", flag.long),
            },
            None => String::new(),
        };
        text += &format!("\n{:<28}{option}\n", setting.name);
        text += &format!("    {}\n", setting.about);
        text += &format!("    allowed: {}\n", setting.kind.allowed());
    }
    output::print(&text)
}
