//! Every setting of a run as an option, from its row in the table of settings.

use bitcost_study::settings::{Kind, SETTINGS, Setting};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

/// The settings that were given, with their values as they were typed.
pub struct Settings(pub Vec<(&'static Setting, String)>);

impl clap::Args for Settings {
    fn augment_args(command: Command) -> Command {
        SETTINGS
            .iter()
            .filter_map(argument)
            .fold(command, Command::arg)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn argument(setting: &'static Setting) -> Option<Arg> {
    let flag = setting.flag?;
    let argument = Arg::new(setting.name)
        .long(flag.long)
        .help(setting.about)
        .help_heading("Settings");
    let argument = match flag.letter {
        Some(letter) => argument.short(letter),
        None => argument,
    };
    Some(match setting.kind {
        Kind::Switch(_) => argument
            .value_name(setting.kind.value_name())
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        Kind::Background => argument
            .value_name(setting.kind.value_name())
            .action(ArgAction::Append),
        // A value such as -1 is refused by its setting, whose error lists the allowed values.
        kind => argument
            .value_name(kind.value_name())
            .allow_negative_numbers(true),
    })
}

impl FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Settings, clap::Error> {
        let typed = |setting: &'static Setting| {
            let words = matches
                .get_many::<String>(setting.name)
                .into_iter()
                .flatten();
            words.map(move |word| (setting, word.clone()))
        };
        Ok(Settings(
            SETTINGS
                .iter()
                .filter(|setting| setting.flag.is_some())
                .flat_map(typed)
                .collect(),
        ))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Settings::from_arg_matches(matches)?;
        Ok(())
    }
}
