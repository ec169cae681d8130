//! Every setting of a run as an option, from its row in the table of settings.

use bitcost_model::settings::{Kind, SETTINGS, Setting, named};
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, FromArgMatches};

const SET: &str = "set";

/// The settings that end a run, which has one end.
pub const ENDS: [&str; 3] = ["duration_s", "stop_bytes", "stop_messages"];

/// The settings that were given, with their values as they were typed.
pub struct Settings(pub Vec<(&'static Setting, String)>);

impl clap::Args for Settings {
    fn augment_args(command: Command) -> Command {
        let all = SETTINGS.iter().filter_map(argument);
        let command = all.fold(command, Command::arg).arg(set());
        command.group(ArgGroup::new("end").args(ENDS))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn set() -> Arg {
    Arg::new(SET)
        .long(SET)
        .value_name("NAME=VALUE")
        .value_parser(named_value)
        .action(ArgAction::Append)
        .help("Any setting by its name (repeatable); `bitcost help settings` lists them")
        .help_heading("Settings")
}

fn named_value(text: &str) -> Result<(&'static Setting, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("allowed: NAME=VALUE, such as waiting=spin")?;
    let setting = named(name.trim()).map_err(|why| why.to_string())?;
    match setting.name {
        "workload" => Err("the workload is the first argument of `bitcost test`".to_owned()),
        _ => Ok((setting, value.trim().to_owned())),
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
        // A value such as -1s is refused by its setting, whose error lists the allowed values.
        kind => argument
            .value_name(kind.value_name())
            .allow_hyphen_values(matches!(kind, Kind::Number(_))),
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
        let all = SETTINGS.iter().filter(|setting| setting.flag.is_some());
        let set = matches.get_many::<(&'static Setting, String)>(SET);
        let set = set.into_iter().flatten().cloned();
        Ok(Settings(all.flat_map(typed).chain(set).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Settings::from_arg_matches(matches)?;
        Ok(())
    }
}
